#pragma once

#include <cstddef>
#include <functional>

namespace ckptsim::fuzz {

// The most bytes that `work` held on the heap at once, beyond what was held before it. For one thread at a
// time. Linking this replaces operator new and delete of the program, but for builds with a sanitizer, which
// has its own.
[[nodiscard]] std::size_t heap_growth_of(const std::function<void()>& work);

}  // namespace ckptsim::fuzz
