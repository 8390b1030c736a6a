#pragma once

#include <string>
#include <vector>

#include "simulator/verify/verify.h"

namespace ckptsim::simulator {

// What there is to know of how the checkpoints were read, a sentence or two each: that it was through the page
// cache and what that still held, or that nobody could look into it. Empty where all were read past it.
[[nodiscard]] std::vector<std::string> reading_notes(const VerifyResult& result);

}  // namespace ckptsim::simulator
