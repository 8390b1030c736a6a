#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "storage/torch/archive_reader.h"

namespace ckptsim::storage::torch {

// What a pickle makes. Objects refer to each other by number, so that a pickle whose dict holds itself is no
// cycle of ownership.
struct PickleObject {
  using Number = std::size_t;

  struct Mark {};
  struct Tuple {
    std::vector<Number> items;
  };
  struct Dict {
    std::vector<std::pair<Number, Number>> pairs;
    bool visited = false;
  };
  struct Global {
    std::string_view module;
    std::string_view name;
  };
  struct Storage {
    std::string_view storage_class;
    std::string_view key;
    std::uint64_t elements = 0;
  };

  // Views are of the pickle.
  std::variant<Mark, bool, std::int64_t, std::string_view, Tuple, Dict, Global, Storage, ArchiveTensor> value;
};

// Runs a pickle's opcodes over a stack. Throws FormatError with the offset.
class PickleMachine {
 public:
  explicit PickleMachine(std::string_view pickle) : pickle_(pickle) {}

  // Runs to STOP; the number of the object that is left.
  [[nodiscard]] PickleObject::Number run();

  [[nodiscard]] PickleObject& object(PickleObject::Number number) { return objects_[number]; }

  [[noreturn]] void fail(std::string_view problem) const;

 private:
  using Number = PickleObject::Number;

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
  std::unordered_map<std::uint32_t, Number> memo_;
};

}  // namespace ckptsim::storage::torch
