#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "storage/torch/archive_reader.h"

namespace ckptsim::storage::torch {

// Several hundred thousand tensors. A longer pickle is refused before it costs memory.
inline constexpr std::size_t kMostPickleBytes = std::size_t{64} << 20U;

struct PickleContents {
  std::vector<ArchiveTensor> tensors;
  std::vector<std::pair<std::string, std::variant<std::int64_t, std::string>>> scalars;
};

// Reads a pickle of nested dicts that hold tensors, integers, booleans (as 0 and 1) and strings; keys are
// strings or integers. Nothing is executed: the only names it knows are torch's storage classes,
// _rebuild_tensor_v2 and OrderedDict. Time and memory stay within a constant times the pickle's size (but for
// the sorting of names). Throws FormatError with the offset in the pickle for anything else, for a tensor
// that reaches outside its storage, and for two values of one name.
[[nodiscard]] PickleContents read_pickle(std::string_view pickle);

// Bytes of one element of a storage class ("FloatStorage"); 0 for a name that torch does not have.
[[nodiscard]] std::uint64_t storage_element_bytes(std::string_view storage_class);

}  // namespace ckptsim::storage::torch
