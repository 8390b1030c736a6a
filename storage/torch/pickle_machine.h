#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "storage/torch/archive_reader.h"

namespace ckptsim::storage::torch {

// What a pickle makes. Objects refer to each other by number, so that a pickle whose dict holds itself is no
// cycle of ownership. They are small, since one byte of a pickle can make one.
struct PickleObject {
  using Number = std::size_t;

  struct Tuple {
    std::vector<Number> items;
  };
  struct Dict {
    std::vector<std::pair<Number, Number>> pairs;
    bool visited = false;
  };
  struct Global {
    std::string_view name;
    bool of_torch = false;  // of the module "torch"
  };
  struct Storage {
    std::string_view storage_class;
    std::string_view key;
    std::uint64_t elements = 0;
  };

  // Views are of the pickle.
  std::variant<bool, std::int64_t, std::string_view, Tuple, Dict, Global, std::unique_ptr<Storage>,
               std::unique_ptr<ArchiveTensor>>
      value;
};

// Runs a pickle's opcodes over a stack. Throws FormatError with the offset.
class PickleMachine {
 public:
  explicit PickleMachine(std::string_view pickle);

  // Runs to STOP; the number of the object that is left.
  [[nodiscard]] PickleObject::Number run();

  [[nodiscard]] PickleObject& object(PickleObject::Number number) { return objects_[number]; }

  // Takes note of a copy of what the pickle holds once (a name under each of its keys, a tensor in two
  // places). A pickle of a few bytes can ask for any number of them; a file of torch stays far below the
  // limit.
  void spend(std::size_t bytes);
  void spend_on(const ArchiveTensor& tensor);

  [[noreturn]] void fail(std::string_view problem) const;

 private:
  using Number = PickleObject::Number;

  static constexpr Number kMarkOnStack =
      std::numeric_limits<Number>::max();  // on the stack in the place of an object

  bool step(char opcode);  // false for an opcode it does not know
  bool step_value(char opcode);
  bool step_container(char opcode);
  bool step_memo(char opcode);

  [[nodiscard]] std::string_view take(std::size_t bytes);
  [[nodiscard]] std::string_view take_line();
  template <typename Unsigned>
  [[nodiscard]] Unsigned take_integer();
  [[nodiscard]] std::int64_t take_long();

  template <typename Value>
  void push(Value value);
  void remember(std::uint32_t slot);
  void recall(std::uint32_t slot);
  [[nodiscard]] Number pop();
  [[nodiscard]] Number top() const;
  [[nodiscard]] std::vector<Number> pop_to_mark();
  template <typename Value>
  [[nodiscard]] Value& expect(Number number, std::string_view what);

  void push_global();
  void push_tuple(std::size_t size);
  void set_items(const std::vector<Number>& items);
  void load_storage();
  void reduce();
  [[nodiscard]] ArchiveTensor rebuild_tensor(const PickleObject::Tuple& arguments);
  [[nodiscard]] std::vector<std::int64_t> dimensions(Number tuple, std::string_view what);
  void check_extent(const ArchiveTensor& tensor, const std::vector<std::int64_t>& strides) const;

  std::string_view pickle_;
  std::size_t at_ = 0;
  std::deque<PickleObject> objects_;
  std::vector<Number> stack_;
  std::vector<Number> memo_;  // by slot; kMarkOnStack where nothing is
  std::size_t budget_bytes_;  // what spend() leaves
};

template <typename Value>
void PickleMachine::push(Value value) {
  stack_.push_back(objects_.size());
  objects_.push_back({std::move(value)});
}

template <typename Value>
Value& PickleMachine::expect(Number number, std::string_view what) {
  auto* value = std::get_if<Value>(&objects_[number].value);
  if (value == nullptr) {
    fail(std::string("not ").append(what));
  }
  return *value;
}

}  // namespace ckptsim::storage::torch
