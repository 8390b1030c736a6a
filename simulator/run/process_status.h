#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ckptsim::simulator {

// The text of /proc/self/status.
[[nodiscard]] std::string process_status();

// The value of one of its lines: of "Cpus_allowed_list:\t0-31,64" it is "0-31,64". None where the kernel does
// not say.
[[nodiscard]] std::optional<std::string> status_value(const std::string& status, std::string_view key);

}  // namespace ckptsim::simulator
