#include "storage/torch/pickle_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "storage/text/printable.h"
#include "storage/torch/pickle_machine.h"

namespace ckptsim::storage::torch {
namespace {

constexpr std::size_t kDeepestDict = 64;

// Turns nested dicts into lists of leaves.
class Flattener {
 public:
  explicit Flattener(PickleMachine& machine) : machine_(machine) {}

  void flatten(PickleObject::Number number, const std::string& path, std::size_t depth) {
    PickleObject& object = machine_.object(number);
    if (auto* dict = std::get_if<PickleObject::Dict>(&object.value)) {
      flatten_dict(*dict, path, depth);
    } else if (depth == 0) {
      machine_.fail("the file does not hold a dict");
    } else if (const auto* tensor = std::get_if<std::unique_ptr<ArchiveTensor>>(&object.value)) {
      machine_.spend_on(**tensor);
      contents_.tensors.push_back(**tensor);
      contents_.tensors.back().name = path;
    } else if (const auto* integer = std::get_if<std::int64_t>(&object.value)) {
      contents_.scalars.emplace_back(path, *integer);
    } else if (const auto* flag = std::get_if<bool>(&object.value)) {
      contents_.scalars.emplace_back(path, std::int64_t{*flag});
    } else if (const auto* text = std::get_if<std::string_view>(&object.value)) {
      machine_.spend(text->size());
      contents_.scalars.emplace_back(path, std::string(*text));
    } else {
      machine_.fail(
          fmt::format("the value of '{}' is no tensor, integer, string or dict", printable_beginning(path)));
    }
  }

  [[nodiscard]] PickleContents take() {
    check_names();
    return std::move(contents_);
  }

 private:
  void flatten_dict(PickleObject::Dict& dict, const std::string& path, std::size_t depth) {
    if (depth == kDeepestDict) {
      machine_.fail("dicts nested too deeply");
    }
    if (dict.visited) {
      machine_.fail("a dict in two places");  // it might be within itself
    }
    dict.visited = true;
    for (const auto& [key, value] : dict.pairs) {
      flatten(value, joined(path, key, depth), depth + 1);
    }
  }

  std::string joined(const std::string& path, PickleObject::Number key, std::size_t depth) {
    const auto& value = machine_.object(key).value;
    const auto* text = std::get_if<std::string_view>(&value);
    const auto* integer = std::get_if<std::int64_t>(&value);
    if (text == nullptr && integer == nullptr) {
      machine_.fail("a key that is neither string nor integer");
    }
    machine_.spend(path.size() + (text != nullptr ? text->size() : sizeof(std::int64_t)));
    const std::string own = text != nullptr ? std::string(*text) : std::to_string(*integer);
    return depth == 0 ? own : path + "." + own;
  }

  // Sorted rather than hashed: names can be made up to collide.
  void check_names() const {
    std::vector<std::string_view> names;
    for (const ArchiveTensor& tensor : contents_.tensors)
      names.push_back(tensor.name);
    for (const auto& [name, value] : contents_.scalars)
      names.push_back(name);
    std::sort(names.begin(), names.end());
    if (const auto twin = std::adjacent_find(names.begin(), names.end()); twin != names.end()) {
      machine_.fail(fmt::format("two values of the name '{}'", printable_beginning(*twin)));
    }
  }

  PickleMachine& machine_;
  PickleContents contents_;
};

}  // namespace

PickleContents read_pickle(std::string_view pickle) {
  PickleMachine machine(pickle);
  const PickleObject::Number root = machine.run();
  Flattener flattener(machine);
  flattener.flatten(root, {}, 0);
  return flattener.take();
}

std::uint64_t storage_element_bytes(std::string_view storage_class) {
  constexpr auto kClasses = std::to_array<std::pair<std::string_view, std::uint64_t>>({
      {"BFloat16Storage", 2},
      {"HalfStorage", 2},
      {"FloatStorage", 4},
      {"DoubleStorage", 8},
      {"ByteStorage", 1},
      {"CharStorage", 1},
      {"BoolStorage", 1},
      {"ShortStorage", 2},
      {"IntStorage", 4},
      {"LongStorage", 8},
      {"ComplexFloatStorage", 8},
      {"ComplexDoubleStorage", 16},
  });
  for (const auto& [name, bytes] : kClasses) {
    if (name == storage_class) {
      return bytes;
    }
  }
  return 0;
}

}  // namespace ckptsim::storage::torch
