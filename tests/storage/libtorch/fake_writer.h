#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "storage/libtorch/module_interface.h"
#include "storage/torch/crc32.h"
#include "storage/torch/zip_format.h"

namespace ckptsim::storage::libtorch {

// What a FakeWriter does wrong.
struct Faults {
  bool throws = false;
  std::uint64_t alignment_bytes = 64;  // of payloads; LibTorch 1.13 has 64
  bool copies_payloads = false;        // hands on other memory than the caller's
};

// Stands in for LibTorch's writer where LibTorch is not: the same calls, the same bytes, handed on in the
// same pieces.
class FakeWriter final : public Writer {
 public:
  FakeWriter(std::string root, Sink sink, const Faults& faults)
      : root_(std::move(root)), sink_(std::move(sink)), faults_(faults) {}

  void write_bytes(const std::string& record, std::string_view bytes) override {
    write(record, std::as_bytes(std::span(bytes)));
  }
  void write_tensor(const std::string& record, const torch::TensorSpec&,
                    std::span<std::byte> memory) override {
    write(record, memory);
  }
  void finish() override {
    write_bytes("version", "3\n");
    torch::ZipDirectory directory{.offset = position_, .bytes = 0, .entries = entries_.size()};
    for (const torch::ZipEntry& entry : entries_) {
      hand_on(encode_directory_entry(entry));
      directory.bytes += directory_entry_bytes(entry);
    }
    hand_on(encode_tail(directory));
  }

 private:
  void write(const std::string& record, std::span<const std::byte> payload) {
    if (faults_.throws) throw std::runtime_error("unexpected pos");
    torch::ZipEntry entry{std::string(root_).append("/").append(record), position_, payload.size(),
                          torch::crc32(0, payload)};
    const std::string header = encode_local_header(entry, faults_.alignment_bytes);
    hand_on(header.substr(0, 30));
    hand_on(header.substr(30));
    if (faults_.copies_payloads) {
      hand_on({reinterpret_cast<const char*>(payload.data()), payload.size()});
    } else {
      sink_(payload);
      position_ += payload.size();
    }
    hand_on(encode_descriptor(entry));
    entries_.push_back(std::move(entry));
  }

  void hand_on(const std::string& bytes) {
    sink_(std::as_bytes(std::span(bytes)));
    position_ += bytes.size();
  }

  std::string root_;
  Sink sink_;
  Faults faults_;
  std::uint64_t position_ = 0;
  std::vector<torch::ZipEntry> entries_;
};

template <Faults kFaults = Faults{}>
Module fake_module() {
  return {.torch_version = "1.13.9",
          .make_writer = [](const std::string& root, Sink sink) -> std::unique_ptr<Writer> {
            return std::make_unique<FakeWriter>(root, std::move(sink), kFaults);
          }};
}

}  // namespace ckptsim::storage::libtorch
