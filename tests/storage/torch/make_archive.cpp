// make_archive FOLDER [--without-payload] < DESCRIPTION
//
// Writes the described file to FOLDER through ArchiveStream, for tests in other languages. One item a line;
// keys and strings in hexadecimal, so that any character may stand in them ("-" for the empty string):
//     file NAME | dialect 1.13 | dialect current | alignment BYTES
//     tensor KEY bf16|f32|u8 DIMENSION... | int KEY VALUE | string KEY VALUE
// --without-payload leaves the inside of large tensors unwritten (a hole), so that a file of terabytes takes
// no room.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <filesystem>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "storage/torch/archive_layout.h"
#include "storage/torch/archive_stream.h"

namespace {

using namespace ckptsim::storage::torch;

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

struct Description {
  FileSpec file;
  ArchiveOptions options;
};

std::string from_hex(const std::string& hex) {
  std::string text;
  for (std::size_t at = 0; hex != "-" && at < hex.size(); at += 2) {
    text.push_back(static_cast<char>(std::stoi(hex.substr(at, 2), nullptr, 16)));
  }
  return text;
}

TensorSpec parse_tensor(std::istringstream& line) {
  static const std::map<std::string, ScalarType> types = {
      {"bf16", ScalarType::kBFloat16}, {"f32", ScalarType::kFloat32}, {"u8", ScalarType::kUInt8}};
  std::string type;
  line >> type;
  TensorSpec tensor{types.at(type), {}};
  for (std::int64_t dimension = 0; line >> dimension;) {
    tensor.shape.push_back(dimension);
  }
  return tensor;
}

void parse_entry(const std::string& kind, std::istringstream& line, FileSpec& file) {
  std::string key;
  line >> key;
  Entry entry{from_hex(key), {}};
  if (kind == "tensor") {
    entry.value = parse_tensor(line);
  } else if (kind == "int") {
    std::int64_t value = 0;
    line >> value;
    entry.value = value;
  } else if (kind == "string") {
    std::string value;
    line >> value;
    entry.value = from_hex(value);
  } else {
    throw std::invalid_argument("unknown item " + kind);
  }
  file.entries.push_back(std::move(entry));
}

Description parse(std::istream& input) {
  Description description;
  for (std::string text; std::getline(input, text);) {
    std::istringstream line(text);
    std::string kind;
    line >> kind;
    if (kind == "file") {
      line >> description.file.name;
    } else if (kind == "dialect") {
      std::string dialect;
      line >> dialect;
      description.options.dialect = dialect == "1.13" ? Dialect::kTorch113 : Dialect::kCurrent;
    } else if (kind == "alignment") {
      line >> description.options.alignment_bytes;
    } else {
      parse_entry(kind, line, description.file);
    }
  }
  return description;
}

bool is_inside_a_tensor(const ArchiveLayout& layout, std::uint64_t offset, std::uint64_t bytes) {
  for (const RecordLayout& record : layout.records) {
    if (std::holds_alternative<TensorPayload>(record.payload) && offset >= record.payload_offset &&
        offset + bytes <= record.payload_offset + record.entry.bytes) {
      return true;
    }
  }
  return false;
}

void check(bool succeeded, const char* call) {
  if (!succeeded) {
    throw std::system_error(errno, std::generic_category(), call);
  }
}

void write_archive(const Description& description, const std::filesystem::path& path, bool without_payload) {
  const ArchiveLayout layout = lay_out_archive(description.file, description.options);
  ArchiveStream stream(description.file, description.options, 1, 1, 1);
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  check(file >= 0, "open");
  check(::ftruncate(file, static_cast<off_t>(stream.file_bytes())) == 0, "ftruncate");
  std::vector<std::byte> piece(kPieceBytes);
  while (!stream.finished()) {
    const std::uint64_t offset = stream.position();
    const std::size_t bytes = stream.read(piece);
    if (without_payload && is_inside_a_tensor(layout, offset, bytes)) {
      continue;
    }
    check(::pwrite(file, piece.data(), bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes),
          "pwrite");
  }
  check(::close(file) == 0, "close");
  std::cout << stream.digest().crc32 << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 2) {
      throw std::invalid_argument("usage: make_archive FOLDER [--without-payload] < DESCRIPTION");
    }
    const bool without_payload = argc > 2 && std::string_view(argv[2]) == "--without-payload";
    const Description description = parse(std::cin);
    write_archive(description, std::filesystem::path(argv[1]) / description.file.name, without_payload);
  } catch (const std::exception& error) {
    std::cerr << "make_archive: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
