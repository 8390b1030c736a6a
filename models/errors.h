#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace ckptsim {

// A configuration that cannot be run (exit code 2). `pointer` is the JSON pointer of the key that has to
// change ("/parallelism/tensor"), empty where no single key is to blame; what() already names it and says
// what to do.
class ConfigError : public std::runtime_error {
 public:
  ConfigError(std::string pointer, const std::string& message)
      : std::runtime_error(message), pointer_(std::move(pointer)) {}

  [[nodiscard]] const std::string& pointer() const noexcept { return pointer_; }

 private:
  std::string pointer_;
};

}  // namespace ckptsim
