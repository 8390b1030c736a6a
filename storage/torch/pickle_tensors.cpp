// The calls and persistent ids of a pickle: what makes storages and tensors of plain values.
#include <algorithm>
#include <memory>

#include "storage/torch/pickle_machine.h"

namespace ckptsim::storage::torch {
namespace {

constexpr std::size_t kMostDimensions = 64;  // as torch's own limit
constexpr std::size_t kLongestStorageKey = 64;

}  // namespace

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
  if (!type.of_torch || key.size() > kLongestStorageKey || elements < 0) {
    fail("a storage with a wrong class, key or size");
  }
  push(std::make_unique<PickleObject::Storage>(
      PickleObject::Storage{type.name, key, static_cast<std::uint64_t>(elements)}));
}

void PickleMachine::reduce() {
  const auto& arguments = expect<PickleObject::Tuple>(pop(), "a tuple of arguments");
  const auto& function = expect<PickleObject::Global>(pop(), "a name to call");
  if (function.name == "_rebuild_tensor_v2") {
    push(std::make_unique<ArchiveTensor>(rebuild_tensor(arguments)));
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
  const auto& storage = *expect<std::unique_ptr<PickleObject::Storage>>(arguments.items[0], "a storage");
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
  spend_on(tensor);
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
