#pragma once

#include <string_view>

namespace ckptsim {

// Checks in every build what only a mistake in this program can break; what a user can get wrong is a
// ConfigError. Prints `rule` to stderr and aborts when it does not hold.
void require(bool holds, std::string_view rule);

}  // namespace ckptsim
