#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/torch/file_spec.h"

// What the program and the module that holds LibTorch know of each other. No type of torch's stands here, so
// that the program compiles, links and starts without LibTorch.
namespace ckptsim::storage::libtorch {

// Where a writer's bytes go, in file order. They are valid during the call; those of a tensor are the
// tensor's own memory and stay valid until its owner changes them. What it throws
// comes out of the writer's call.
using Sink = std::function<void(std::span<const std::byte>)>;

// One archive by torch's own PyTorchStreamWriter. Every call hands all bytes of its record to the sink before
// it returns. Calls throw std::runtime_error with torch's own message. One thread; writers of different
// threads do not know of each other. Destroyed before finish(), it says nothing more to the sink.
class Writer {
 public:
  Writer() = default;
  virtual ~Writer() = default;
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  virtual void write_bytes(const std::string& record, std::string_view bytes) = 0;
  // `memory` holds the tensor's bytes, contiguous, and outlives the call.
  virtual void write_tensor(const std::string& record, const torch::TensorSpec& tensor,
                            std::span<std::byte> memory) = 0;
  virtual void finish() = 0;  // the record "version" and the directory
};

// Changes whenever this header does: a module of another build is refused, not called.
inline constexpr std::uint32_t kInterfaceVersion = 1;

struct Module {
  std::uint32_t interface_version = kInterfaceVersion;
  std::string_view torch_version;  // "1.13.0", as LibTorch calls itself
  // `root` is the folder inside the archive.
  std::unique_ptr<Writer> (*make_writer)(const std::string& root, Sink sink) = nullptr;
};

// The module's one symbol, `extern "C"`.
using ModuleFunction = const Module*();
inline constexpr const char* kModuleFunction = "ckptsim_libtorch_module";

}  // namespace ckptsim::storage::libtorch
