// The module: the only file that knows LibTorch.
#include <ATen/ops/from_blob.h>
#include <c10/util/Exception.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/api/include/torch/version.h>

#include <exception>
#include <stdexcept>
#include <utility>

#include "storage/libtorch/module_interface.h"

namespace ckptsim::storage::libtorch {
namespace {

using caffe2::serialize::PyTorchStreamWriter;

// In LibTorch 1.13 a writer that writes through a function calls its root folder "archive" and offers no way
// to name it; the one that can be named opens a file by itself. Access is not checked in the arguments of an
// explicit instantiation (C++20, [temp.spec]), which gives the two members their right values by legal means
// (docs/adr).
struct NameTag {};
struct FolderTag {};
template <typename Tag, std::string PyTorchStreamWriter::*kMember>
struct Opened {
  friend std::string& opened(PyTorchStreamWriter& writer, Tag) { return writer.*kMember; }
};
std::string& opened(PyTorchStreamWriter& writer, NameTag);
std::string& opened(PyTorchStreamWriter& writer, FolderTag);
template struct Opened<NameTag, &PyTorchStreamWriter::archive_name_>;
template struct Opened<FolderTag, &PyTorchStreamWriter::archive_name_plus_slash_>;

at::ScalarType scalar_type(torch::ScalarType type) {
  switch (type) {
    case torch::ScalarType::kBFloat16:
      return at::kBFloat16;
    case torch::ScalarType::kFloat32:
      return at::kFloat;
    case torch::ScalarType::kUInt8:
      return at::kByte;
  }
  throw std::runtime_error("an element type that the module does not know");
}

// torch's errors carry a backtrace; the first line says what happened.
template <typename Work>
auto with_torchs_message(Work&& work) {
  try {
    return work();
  } catch (const c10::Error& error) {
    throw std::runtime_error(error.what_without_backtrace());
  }
}

class TorchWriter final : public Writer {
 public:
  TorchWriter(const std::string& root, Sink sink)
      : sink_(std::move(sink)), writer_([this](const void* bytes, std::size_t size) noexcept {
          return hand_on({static_cast<const std::byte*>(bytes), size});
        }) {
    opened(writer_, NameTag()) = root;
    opened(writer_, FolderTag()) = root + "/";
  }

  // torch's destructor ends an archive that is not finished.
  ~TorchWriter() override { abandoned_ = true; }

  void write_bytes(const std::string& record, std::string_view bytes) override {
    written([&] { writer_.writeRecord(record, bytes.data(), bytes.size()); });
  }

  void write_tensor(const std::string& record, const torch::TensorSpec& spec,
                    std::span<std::byte> memory) override {
    written([&] {
      const at::Tensor tensor =
          at::from_blob(memory.data(), spec.shape, at::TensorOptions(scalar_type(spec.type)));
      TORCH_CHECK(tensor.nbytes() == memory.size(), record, " has ", tensor.nbytes(), " bytes, its memory ",
                  memory.size());
      writer_.writeRecord(record, tensor.data_ptr(), tensor.nbytes());
    });
  }

  void finish() override {
    written([this] { writer_.writeEndOfFile(); });
  }

 private:
  // Called from C code, which an exception must not pass through: it is kept, and torch told that nothing was
  // written.
  [[nodiscard]] std::size_t hand_on(std::span<const std::byte> bytes) noexcept {
    if (abandoned_) return bytes.size();
    try {
      sink_(bytes);
    } catch (...) {
      failure_ = std::current_exception();
      return 0;
    }
    return bytes.size();
  }

  // What the sink threw, rather than what torch says of it.
  template <typename Work>
  void written(Work&& work) {
    try {
      with_torchs_message(work);
    } catch (const std::runtime_error&) {
      if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
      throw;
    }
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

  Sink sink_;
  std::exception_ptr failure_;
  bool abandoned_ = false;
  PyTorchStreamWriter writer_;  // ends first: it still calls the function
};

std::unique_ptr<Writer> make_writer(const std::string& root, Sink sink) {
  return with_torchs_message(
      [&]() -> std::unique_ptr<Writer> { return std::make_unique<TorchWriter>(root, std::move(sink)); });
}

}  // namespace
}  // namespace ckptsim::storage::libtorch

extern "C" __attribute__((visibility("default"))) const ckptsim::storage::libtorch::Module*
ckptsim_libtorch_module() {
  using namespace ckptsim::storage::libtorch;
  static const Module module{.torch_version = TORCH_VERSION, .make_writer = make_writer};
  return &module;
}
