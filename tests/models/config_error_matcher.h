#pragma once

#include <gmock/gmock.h>

#include <string>

#include "models/errors.h"

namespace ckptsim::testing {

// For EXPECT_THAT(lambda, throws_config_error("/model", "hidden_size")): the key to blame, and words the user
// needs.
inline auto throws_config_error(const std::string& pointer, const std::string& words) {
  using ::testing::AllOf;
  using ::testing::HasSubstr;
  using ::testing::Property;
  return ::testing::Throws<ConfigError>(
      AllOf(Property("pointer", &ConfigError::pointer, pointer),
            Property("what", &ConfigError::what, AllOf(HasSubstr(pointer), HasSubstr(words)))));
}

}  // namespace ckptsim::testing
