#include "storage/torch/pickle_machine.h"

#include <fmt/format.h>

#include <algorithm>

#include "storage/errors.h"
#include "storage/text/printable.h"
#include "storage/torch/little_endian.h"
#include "storage/torch/pickle_opcodes.h"
#include "storage/torch/pickle_reader.h"

namespace ckptsim::storage::torch {
namespace {

constexpr std::size_t kMostCopies = 64;  // of each byte of the pickle, on average

}  // namespace

PickleMachine::PickleMachine(std::string_view pickle)
    : pickle_(pickle), budget_bytes_(pickle.size() * kMostCopies) {
  if (pickle.size() > kMostPickleBytes) {
    fail(fmt::format("{} bytes, more than the {} that a pickle of tensors in dicts may have", pickle.size(),
                     kMostPickleBytes));
  }
}

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
      stack_.push_back(kMarkOnStack);
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
    remember(slot);
  } else {
    recall(slot);
  }
  return true;
}

// Picklers count their slots from 0, so that there are fewer than bytes.
void PickleMachine::remember(std::uint32_t slot) {
  if (slot >= pickle_.size()) {
    fail("a memo slot beyond any that a pickle of this size fills");
  }
  const Number number = top();
  if (slot >= memo_.size()) {
    memo_.resize(std::size_t{slot} + 1, kMarkOnStack);
  }
  memo_[slot] = number;
}

void PickleMachine::recall(std::uint32_t slot) {
  if (slot >= memo_.size() || memo_[slot] == kMarkOnStack) {
    fail("a reference to nothing");
  }
  stack_.push_back(memo_[slot]);
}

void PickleMachine::spend(std::size_t bytes) {
  if (bytes > budget_bytes_) {
    fail("names and values far longer than the pickle");
  }
  budget_bytes_ -= bytes;
}

void PickleMachine::spend_on(const ArchiveTensor& tensor) {
  spend(sizeof(tensor) + tensor.storage_class.size() + tensor.storage_key.size() +
        tensor.shape.size() * sizeof(tensor.shape.front()));
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

PickleObject::Number PickleMachine::pop() {
  const Number number = top();
  stack_.pop_back();
  return number;
}

PickleObject::Number PickleMachine::top() const {
  if (stack_.empty() || stack_.back() == kMarkOnStack) {
    fail("nothing on the stack");
  }
  return stack_.back();
}

std::vector<PickleObject::Number> PickleMachine::pop_to_mark() {
  const auto mark = std::find(stack_.rbegin(), stack_.rend(), kMarkOnStack);
  if (mark == stack_.rend()) {
    fail("no mark on the stack");
  }
  std::vector<Number> items(mark.base(), stack_.end());
  stack_.erase(mark.base() - 1, stack_.end());
  return items;
}

void PickleMachine::push_global() {
  const std::string_view module = take_line();
  const std::string_view name = take_line();
  const bool known = (module == "torch._utils" && name == "_rebuild_tensor_v2") ||
                     (module == "collections" && name == "OrderedDict") ||
                     (module == "torch" && storage_element_bytes(name) != 0);
  if (!known) {
    fail(fmt::format("the name {}.{}, which tensors in dicts do not need", printable_beginning(module),
                     printable_beginning(name)));
  }
  push(PickleObject::Global{name, module == "torch"});
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

}  // namespace ckptsim::storage::torch
