#include "storage/torch/pickle_difference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <variant>

#include "storage/text/printable.h"

namespace ckptsim::storage::torch {
namespace {

std::string words(const ArchiveTensor& tensor) {
  return fmt::format("'{}', a {} of shape [{}]", printable_beginning(tensor.name), tensor.storage_class,
                     fmt::join(tensor.shape, ", "));
}

std::string words(const std::string& name, const std::variant<std::int64_t, std::string>& value) {
  return fmt::format(
      "'{}' = {}", printable_beginning(name),
      std::visit([](const auto& held) { return printable_beginning(fmt::to_string(held)); }, value));
}

ArchiveTensor as_read(const std::string& name, const TensorSpec& tensor) {
  return {.name = name,
          .storage_class = std::string(storage_class(tensor.type)),
          .shape = tensor.shape,
          .storage_key = {},
          .storage_offset = 0,
          .storage_elements = element_count(tensor)};
}

bool same(const ArchiveTensor& a, const ArchiveTensor& b) {
  return a.name == b.name && a.storage_class == b.storage_class && a.shape == b.shape &&
         a.storage_offset == b.storage_offset && a.storage_elements == b.storage_elements;
}

// Goes through what was read, in order.
class Comparison {
 public:
  explicit Comparison(const PickleContents& found) : found_(found) {}

  std::string next(const std::string& name, const TensorSpec& tensor) {
    const ArchiveTensor expected = as_read(name, tensor);
    if (tensors_ == found_.tensors.size()) return fmt::format("{} is missing", words(expected));
    const ArchiveTensor& here = found_.tensors[tensors_++];
    if (same(here, expected)) return {};
    return fmt::format("{} is where {} was saved", words(here), words(expected));
  }

  template <typename Value>
  std::string next(const std::string& name, const Value& value) {
    if (scalars_ == found_.scalars.size()) return fmt::format("{} is missing", words(name, value));
    const auto& [found_name, found_value] = found_.scalars[scalars_++];
    if (found_name == name && found_value == std::variant<std::int64_t, std::string>(value)) return {};
    return fmt::format("{} is where {} was saved", words(found_name, found_value), words(name, value));
  }

  [[nodiscard]] std::string left_over() const {
    if (tensors_ < found_.tensors.size()) {
      return fmt::format("{} was not saved", words(found_.tensors[tensors_]));
    }
    if (scalars_ < found_.scalars.size()) {
      return fmt::format("{} was not saved",
                         words(found_.scalars[scalars_].first, found_.scalars[scalars_].second));
    }
    return {};
  }

 private:
  const PickleContents& found_;
  std::size_t tensors_ = 0;
  std::size_t scalars_ = 0;
};

}  // namespace

std::string pickle_difference(const FileSpec& expected, const PickleContents& found) {
  Comparison comparison(found);
  for (const Entry& entry : expected.entries) {
    std::string difference =
        std::visit([&](const auto& value) { return comparison.next(entry.key, value); }, entry.value);
    if (!difference.empty()) return difference;
  }
  return comparison.left_over();
}

}  // namespace ckptsim::storage::torch
