#include "storage/torch/pickle_writer.h"

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <map>
#include <stdexcept>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "storage/torch/little_endian.h"
#include "storage/torch/pickle_opcodes.h"

namespace ckptsim::storage::torch {
namespace {

constexpr std::size_t kDictBatchPairs = 1000;

// CPython keeps one object for the empty string and one for each character up to U+00FF, so the pickler,
// which remembers objects, writes them once. All other strings are objects of their own wherever they stand.
bool is_shared_by_cpython(std::string_view utf8) {
  const auto lead = [&] { return static_cast<unsigned char>(utf8.front()); };
  return utf8.empty() || (utf8.size() == 1 && lead() < 0x80) ||
         (utf8.size() == 2 && (lead() == 0xc2 || lead() == 0xc3));
}

// Appends opcodes and remembers, like the pickler's memo, which objects were written before.
class Pickler {
 public:
  void put_opcode(char opcode) { bytes_.push_back(opcode); }

  void put_integer(std::int64_t value) {
    if (value >= 0 && value <= 0xff) {
      put_opcode(kBinInt1);
      append_little_endian(bytes_, static_cast<std::uint8_t>(value));
    } else if (value >= 0 && value <= 0xffff) {
      put_opcode(kBinInt2);
      append_little_endian(bytes_, static_cast<std::uint16_t>(value));
    } else if (value >= std::numeric_limits<std::int32_t>::min() &&
               value <= std::numeric_limits<std::int32_t>::max()) {
      put_opcode(kBinInt);
      append_little_endian(bytes_, static_cast<std::int32_t>(value));
    } else {
      put_long(value);
    }
  }

  void put_string(const std::string& text) {
    if (is_shared_by_cpython(text)) {
      put_once("str " + text, [&] { put_unicode(text); });
    } else {
      put_new_string(text);
    }
  }

  // A string that is its own object even if CPython could share it: str(0) makes a new one.
  void put_new_string(std::string_view text) {
    put_unicode(text);
    memoize();
  }

  // A literal of torch's own source, one object wherever it is used, and no other equal string.
  void put_literal(std::string_view text) {
    put_once("literal " + std::string(text), [&] { put_unicode(text); });
  }

  void put_global(std::string_view module, std::string_view name) {
    put_once(fmt::format("global {} {}", module, name), [&] {
      put_opcode(kGlobal);
      bytes_.append(module).append("\n").append(name).append("\n");
    });
  }

  void put_integer_tuple(const std::vector<std::int64_t>& values) {
    if (values.empty()) {
      put_opcode(kEmptyTuple);
      return;
    }
    if (values.size() > 3) {
      put_opcode(kMark);
    }
    for (const std::int64_t value : values) {
      put_integer(value);
    }
    constexpr char tuple_of_size[] = {kTuple1, kTuple2, kTuple3};
    put_opcode(values.size() > 3 ? kTuple : tuple_of_size[values.size() - 1]);
    memoize();
  }

  void memoize() {
    if (memo_size_ < 256) {
      put_opcode(kBinPut);
      append_little_endian(bytes_, static_cast<std::uint8_t>(memo_size_));
    } else {
      put_opcode(kLongBinPut);
      append_little_endian(bytes_, memo_size_);
    }
    ++memo_size_;
  }

  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  void put_unicode(std::string_view text) {
    put_opcode(kBinUnicode);
    append_little_endian(bytes_, static_cast<std::uint32_t>(text.size()));
    bytes_.append(text);
  }

  // As few bytes of two's complement as hold the value.
  void put_long(std::int64_t value) {
    std::string digits;
    append_little_endian(digits, value);
    const char sign = value < 0 ? '\xff' : '\0';
    const auto sign_bit_of = [](char byte) { return (static_cast<unsigned char>(byte) & 0x80U) != 0; };
    while (digits.back() == sign && sign_bit_of(digits[digits.size() - 2]) == (value < 0)) {
      digits.pop_back();
    }
    put_opcode(kLong1);
    append_little_endian(bytes_, static_cast<std::uint8_t>(digits.size()));
    bytes_.append(digits);
  }

  template <typename Put>
  void put_once(const std::string& object, Put put) {
    const auto known = memo_.find(object);
    if (known == memo_.end()) {
      put();
      memo_.emplace(object, memo_size_);
      memoize();
    } else if (known->second < 256) {
      put_opcode(kBinGet);
      append_little_endian(bytes_, static_cast<std::uint8_t>(known->second));
    } else {
      put_opcode(kLongBinGet);
      append_little_endian(bytes_, known->second);
    }
  }

  std::string bytes_;
  std::uint32_t memo_size_ = 0;
  std::map<std::string, std::uint32_t> memo_;  // only of objects that can come again
};

// Row-major, as torch computes them: an empty dimension counts as one.
std::vector<std::int64_t> contiguous_strides(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i > 0; --i) {
    strides[i - 1] = stride;
    stride *= shape[i - 1] > 0 ? shape[i - 1] : 1;
  }
  return strides;
}

void put_tensor(Pickler& pickler, const TensorSpec& tensor, std::uint64_t number) {
  pickler.put_global("torch._utils", "_rebuild_tensor_v2");
  pickler.put_opcode(kMark);

  pickler.put_opcode(kMark);
  pickler.put_literal("storage");
  pickler.put_global("torch", storage_class(tensor.type));
  pickler.put_new_string(std::to_string(number));
  pickler.put_literal("cpu");
  pickler.put_integer(static_cast<std::int64_t>(element_count(tensor)));
  pickler.put_opcode(kTuple);
  pickler.memoize();
  pickler.put_opcode(kBinPersId);

  pickler.put_integer(0);  // offset in the storage
  pickler.put_integer_tuple(tensor.shape);
  pickler.put_integer_tuple(contiguous_strides(tensor.shape));
  pickler.put_opcode(kNewFalse);                     // requires_grad
  pickler.put_global("collections", "OrderedDict");  // backward hooks
  pickler.put_opcode(kEmptyTuple);
  pickler.put_opcode(kReduce);
  pickler.memoize();

  pickler.put_opcode(kTuple);
  pickler.memoize();
  pickler.put_opcode(kReduce);
  pickler.memoize();
}

void check_shape(const FileSpec& file, const Entry& entry, const TensorSpec& tensor) {
  // Empty dimensions count as one: the strides must fit as well.
  constexpr auto most_bytes = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t room = most_bytes / size_bytes(tensor.type);
  for (const std::int64_t dimension : tensor.shape) {
    if (dimension < 0 || (dimension > 0 && room / static_cast<std::uint64_t>(dimension) == 0)) {
      throw std::invalid_argument(
          fmt::format("{}: the shape of '{}' is negative or too large", file.name, entry.key));
    }
    room /= dimension > 0 ? static_cast<std::uint64_t>(dimension) : 1;
  }
}

void check(const FileSpec& file) {
  if (file.entries.size() == 1) {
    throw std::invalid_argument(fmt::format(
        "{}: a dict of one entry, which older C++ readers of torch files cannot read", file.name));
  }
  std::unordered_set<std::string_view> keys;
  for (const Entry& entry : file.entries) {
    if (!keys.insert(entry.key).second) {
      throw std::invalid_argument(fmt::format("{}: two entries have the key '{}'", file.name, entry.key));
    }
    if (const auto* tensor = std::get_if<TensorSpec>(&entry.value)) {
      check_shape(file, entry, *tensor);
    }
  }
}

}  // namespace

std::string write_pickle(const FileSpec& file) {
  check(file);
  Pickler pickler;
  pickler.put_opcode(kProto);
  pickler.put_opcode('\x02');
  pickler.put_opcode(kEmptyDict);
  pickler.memoize();

  std::uint64_t tensors = 0;
  std::size_t in_batch = 0;
  for (const Entry& entry : file.entries) {
    if (in_batch == 0) {
      pickler.put_opcode(kMark);
    }
    pickler.put_string(entry.key);
    if (const auto* tensor = std::get_if<TensorSpec>(&entry.value)) {
      put_tensor(pickler, *tensor, tensors++);
    } else if (const auto* integer = std::get_if<std::int64_t>(&entry.value)) {
      pickler.put_integer(*integer);
    } else {
      pickler.put_string(std::get<std::string>(entry.value));
    }
    if (++in_batch == kDictBatchPairs) {
      pickler.put_opcode(kSetItems);
      in_batch = 0;
    }
  }
  // The C pickler learns that a dict is at its end only from a batch that is not full, so a dict that fills
  // its last batch ends with an empty one.
  if (!file.entries.empty()) {
    if (in_batch == 0) {
      pickler.put_opcode(kMark);
    }
    pickler.put_opcode(kSetItems);
  }
  pickler.put_opcode(kStop);
  return pickler.take();
}

}  // namespace ckptsim::storage::torch
