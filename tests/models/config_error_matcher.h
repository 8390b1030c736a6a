#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "models/errors.h"

namespace ckptsim::testing {

// For EXPECT_THAT(lambda, throws_config_error("/model/x", "hidden_size")): the pointer to the key to blame,
// which the message spells with dots, and words the user needs.
inline auto throws_config_error(const std::string& pointer, const std::string& words) {
  using ::testing::AllOf;
  using ::testing::HasSubstr;
  using ::testing::Property;
  std::string key = pointer.substr(1);
  std::replace(key.begin(), key.end(), '/', '.');
  return ::testing::Throws<ConfigError>(
      AllOf(Property("pointer", &ConfigError::pointer, pointer),
            Property("what", &ConfigError::what, AllOf(HasSubstr(key), HasSubstr(words)))));
}

}  // namespace ckptsim::testing
