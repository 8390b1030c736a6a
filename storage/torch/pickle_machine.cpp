#include "storage/torch/pickle_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "storage/errors.h"
#include "storage/torch/little_endian.h"
#include "storage/torch/pickle_opcodes.h"
#include "storage/torch/pickle_reader.h"

namespace ckptsim::storage::torch {
namespace {

constexpr std::size_t kMostDimensions = 64;  // as torch's own limit
constexpr std::size_t kLongestStorageKey = 64;

}  // namespace

PickleObject::Number PickleMachine::run() {
  if (take(2) != std::string_view("\x80\x02", 2)) {
    fail("not a pickle of protocol 2");
  }
  for (;;) {
    const char opcode = take(1).front();
    if (opcode == kStop) {
      return pop();
    }
    if (!step(opcode)) {
      fail(fmt::format("opcode 0x{:02x}, which tensors in dicts do not need",
                       static_cast<unsigned char>(opcode)));
    }
  }
}

void PickleMachine::fail(std::string_view problem) const {
  throw FormatError(fmt::format("pickle: at {}: {}", at_, problem));
}

bool PickleMachine::step(char opcode) {
  return step_value(opcode) || step_container(opcode) || step_memo(opcode);
}

bool PickleMachine::step_value(char opcode) {
  switch (opcode) {
    case kBinUnicode:
      push(take(take_integer<std::uint32_t>()));
      return true;
    case kBinInt:
      push(std::int64_t{static_cast<std::int32_t>(take_integer<std::uint32_t>())});
      return true;
    case kBinInt1:
      push(std::int64_t{take_integer<std::uint8_t>()});
      return true;
    case kBinInt2:
      push(std::int64_t{take_integer<std::uint16_t>()});
      return true;
    case kLong1:
      push(take_long());
      return true;
    case kNewTrue:
    case kNewFalse:
      push(opcode == kNewTrue);
      return true;
    case kGlobal:
      push_global();
      return true;
    default:
      return false;
  }
}

bool PickleMachine::step_container(char opcode) {
  switch (opcode) {
    case kMark:
      push(PickleObject::Mark{});
      return true;
    case kEmptyDict:
      push(PickleObject::Dict{});
      return true;
    case kSetItem: {
      const Number value = pop();
      const Number key = pop();
      set_items({key, value});
      return true;
    }
    case kSetItems:
      set_items(pop_to_mark());
      return true;
    case kEmptyTuple:
      push_tuple(0);
      return true;
    case kTuple1:
      push_tuple(1);
      return true;
    case kTuple2:
      push_tuple(2);
      return true;
    case kTuple3:
      push_tuple(3);
      return true;
    case kTuple:
      push(PickleObject::Tuple{pop_to_mark()});
      return true;
    case kBinPersId:
      load_storage();
      return true;
    case kReduce:
      reduce();
      return true;
    default:
      return false;
  }
}

bool PickleMachine::step_memo(char opcode) {
  const bool is_long = opcode == kLongBinPut || opcode == kLongBinGet;
  if (!is_long && opcode != kBinPut && opcode != kBinGet) {
    return false;
  }
  const std::uint32_t slot = is_long ? take_integer<std::uint32_t>() : take_integer<std::uint8_t>();
  if (opcode == kBinPut || opcode == kLongBinPut) {
    memo_[slot] = top();
    return true;
  }
  const auto known = memo_.find(slot);
  if (known == memo_.end()) {
    fail("a reference to nothing");
  }
  stack_.push_back(known->second);
  return true;
}

std::string_view PickleMachine::take(std::size_t bytes) {
  if (bytes > pickle_.size() - at_) {
    fail("the pickle is cut short");
  }
  const std::string_view taken = pickle_.substr(at_, bytes);
  at_ += bytes;
  return taken;
}

std::string_view PickleMachine::take_line() {
  const std::size_t end = pickle_.find('\n', at_);
  if (end == std::string_view::npos) {
    fail("the pickle is cut short");
  }
  const std::string_view line = pickle_.substr(at_, end - at_);
  at_ = end + 1;
  return line;
}

template <typename Unsigned>
Unsigned PickleMachine::take_integer() {
  return load_little_endian<Unsigned>(take(sizeof(Unsigned)));
}

std::int64_t PickleMachine::take_long() {
  const std::string_view digits = take(take_integer<std::uint8_t>());
  if (digits.size() > sizeof(std::int64_t)) {
    fail("an integer of more than 64 bits");
  }
  const bool negative = !digits.empty() && (static_cast<unsigned char>(digits.back()) & 0x80U) != 0;
  std::string extended(sizeof(std::int64_t), negative ? '\xff' : '\0');
  std::copy(digits.begin(), digits.end(), extended.begin());
  return static_cast<std::int64_t>(load_little_endian<std::uint64_t>(extended));
}

template <typename Value>
void PickleMachine::push(Value value) {
  stack_.push_back(objects_.size());
  objects_.push_back({std::move(value)});
}

PickleObject::Number PickleMachine::pop() {
  const Number number = top();
  stack_.pop_back();
  return number;
}

PickleObject::Number PickleMachine::top() const {
  if (stack_.empty()) {
    fail("nothing on the stack");
  }
  return stack_.back();
}

std::vector<PickleObject::Number> PickleMachine::pop_to_mark() {
  const auto mark = std::find_if(stack_.rbegin(), stack_.rend(), [&](Number number) {
    return std::holds_alternative<PickleObject::Mark>(objects_[number].value);
  });
  if (mark == stack_.rend()) {
    fail("no mark on the stack");
  }
  std::vector<Number> items(mark.base(), stack_.end());
  stack_.erase(mark.base() - 1, stack_.end());
  return items;
}

template <typename Value>
Value& PickleMachine::expect(Number number, std::string_view what) {
  auto* value = std::get_if<Value>(&objects_[number].value);
  if (value == nullptr) {
    fail(fmt::format("not {}", what));
  }
  return *value;
}

void PickleMachine::push_global() {
  const std::string_view module = take_line();
  const std::string_view name = take_line();
  const bool known = (module == "torch._utils" && name == "_rebuild_tensor_v2") ||
                     (module == "collections" && name == "OrderedDict") ||
                     (module == "torch" && storage_element_bytes(name) != 0);
  if (!known) {
    fail(fmt::format("the name {}.{}, which tensors in dicts do not need", module, name));
  }
  push(PickleObject::Global{module, name});
}

void PickleMachine::push_tuple(std::size_t size) {
  PickleObject::Tuple tuple;
  for (std::size_t i = 0; i < size; ++i) {
    tuple.items.push_back(pop());
  }
  std::reverse(tuple.items.begin(), tuple.items.end());
  push(std::move(tuple));
}

void PickleMachine::set_items(const std::vector<Number>& items) {
  auto& dict = expect<PickleObject::Dict>(top(), "a dict");
  if (items.size() % 2 != 0) {
    fail("a key without a value");
  }
  for (std::size_t i = 0; i < items.size(); i += 2) {
    dict.pairs.emplace_back(items[i], items[i + 1]);
  }
}

// A persistent id: ('storage', class, key, location, elements).
void PickleMachine::load_storage() {
  const auto& id = expect<PickleObject::Tuple>(pop(), "a tuple as a persistent id");
  if (id.items.size() != 5 || expect<std::string_view>(id.items[0], "a string") != "storage") {
    fail("a persistent id that is no storage");
  }
  const auto& type = expect<PickleObject::Global>(id.items[1], "a storage class");
  const std::string_view key = expect<std::string_view>(id.items[2], "a storage key");
  (void)expect<std::string_view>(id.items[3], "a device");
  const std::int64_t elements = expect<std::int64_t>(id.items[4], "a count of elements");
  if (type.module != "torch" || key.size() > kLongestStorageKey || elements < 0) {
    fail("a storage with a wrong class, key or size");
  }
  push(PickleObject::Storage{type.name, key, static_cast<std::uint64_t>(elements)});
}

void PickleMachine::reduce() {
  const auto& arguments = expect<PickleObject::Tuple>(pop(), "a tuple of arguments");
  const auto& function = expect<PickleObject::Global>(pop(), "a name to call");
  if (function.name == "_rebuild_tensor_v2") {
    push(rebuild_tensor(arguments));
  } else if (function.name == "OrderedDict" && arguments.items.empty()) {
    push(PickleObject::Dict{});
  } else {
    fail("a call that tensors in dicts do not need");
  }
}

// (storage, offset, sizes, strides, requires_grad, backward hooks)
ArchiveTensor PickleMachine::rebuild_tensor(const PickleObject::Tuple& arguments) {
  if (arguments.items.size() != 6) {
    fail("a tensor with a wrong number of parts");
  }
  const auto& storage = expect<PickleObject::Storage>(arguments.items[0], "a storage");
  const std::int64_t offset = expect<std::int64_t>(arguments.items[1], "an offset");
  (void)expect<bool>(arguments.items[4], "a truth value");
  if (!expect<PickleObject::Dict>(arguments.items[5], "a dict of hooks").pairs.empty()) {
    fail("a tensor with hooks");
  }
  ArchiveTensor tensor;
  tensor.storage_class = storage.storage_class;
  tensor.storage_key = storage.key;
  tensor.storage_elements = storage.elements;
  tensor.storage_offset = static_cast<std::uint64_t>(offset);
  tensor.shape = dimensions(arguments.items[2], "a tuple of sizes");
  const std::vector<std::int64_t> strides = dimensions(arguments.items[3], "a tuple of strides");
  if (offset < 0 || strides.size() != tensor.shape.size()) {
    fail("a tensor whose sizes and strides do not fit");
  }
  check_extent(tensor, strides);
  return tensor;
}

std::vector<std::int64_t> PickleMachine::dimensions(Number tuple, std::string_view what) {
  const auto& items = expect<PickleObject::Tuple>(tuple, what).items;
  if (items.size() > kMostDimensions) {
    fail("a tensor of too many dimensions");
  }
  std::vector<std::int64_t> values;
  for (const Number item : items) {
    values.push_back(expect<std::int64_t>(item, "an integer"));
    if (values.back() < 0) {
      fail("a negative size or stride");
    }
  }
  return values;
}

// The last element lies at offset + sum of (size - 1) * stride. Everything stays below 2^63: no step
// overflows.
void PickleMachine::check_extent(const ArchiveTensor& tensor,
                                 const std::vector<std::int64_t>& strides) const {
  if (tensor.storage_offset > tensor.storage_elements) {
    fail("a tensor that begins behind its storage");
  }
  if (std::find(tensor.shape.begin(), tensor.shape.end(), 0) != tensor.shape.end()) {
    return;
  }
  std::uint64_t room = tensor.storage_elements - tensor.storage_offset;
  if (room == 0) {
    fail("a tensor that reaches behind its storage");
  }
  --room;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    const auto steps = static_cast<std::uint64_t>(tensor.shape[i]) - 1;
    const auto stride = static_cast<std::uint64_t>(strides[i]);
    if (stride != 0 && steps > room / stride) {
      fail("a tensor that reaches behind its storage");
    }
    room -= steps * stride;
  }
}

}  // namespace ckptsim::storage::torch
