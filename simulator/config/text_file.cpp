#include "simulator/config/text_file.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

#include "models/errors.h"

namespace ckptsim::simulator {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { static_cast<void>(std::fclose(file)); }
};

[[noreturn]] void refuse(const std::string& path, int error_number) {
  throw ConfigError(
      "", fmt::format("{}: cannot be read: {}", path, std::generic_category().message(error_number)));
}

}  // namespace

std::string read_text_file(const std::string& path, std::size_t most_bytes) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "re"));
  if (!file) {
    refuse(path, errno);
  }
  std::string text;
  std::array<char, 16384> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
    text.append(buffer.data(), count);
    if (text.size() > most_bytes) {
      throw ConfigError("", fmt::format("{}: is larger than {} bytes, more than any configuration needs; "
                                        "name a configuration file",
                                        path, most_bytes));
    }
  }
  if (std::ferror(file.get()) != 0) {
    refuse(path, errno);
  }
  return text;
}

}  // namespace ckptsim::simulator
