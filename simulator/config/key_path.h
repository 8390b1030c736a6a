#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ckptsim::simulator {

// The keys that lead from the document's root to a value; an array's index is its decimal digits.
using KeyPath = std::vector<std::string>;

// "storage.targets[0]", as users write and read it.
[[nodiscard]] std::string dotted(const KeyPath& path);

// "/storage/targets/0", RFC 6901.
[[nodiscard]] std::string json_pointer(const KeyPath& path);

// "storage.queue_depth" taken apart at its dots.
[[nodiscard]] KeyPath split_dotted(std::string_view text);

// `path` and one key more.
[[nodiscard]] KeyPath below(KeyPath path, std::string key);

// Whether `path` is `ancestor` or lies beneath it.
[[nodiscard]] bool is_within(const KeyPath& path, const KeyPath& ancestor);

}  // namespace ckptsim::simulator
