#include "storage/target/data_file_name.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace ckptsim::storage {
namespace {

// A run of # stands for a number of at least so many digits.
constexpr char kDigit = '#';
constexpr std::array<std::string_view, 4> kPatterns{
    "layer_###-model_##-model_states.pt",
    "mp_rank_##_model_states.pt",
    "zero_pp_rank_#_mp_rank_##_model_states.pt",
    "zero_pp_rank_#_mp_rank_##_optim_states.pt",
};

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

std::size_t leading(std::string_view text, bool (*wanted)(char)) {
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), wanted) - text.begin());
}

bool matches(std::string_view name, std::string_view pattern) {
  while (!pattern.empty()) {
    const std::size_t least = leading(pattern, [](char letter) { return letter == kDigit; });
    if (least == 0) {
      if (name.empty() || name.front() != pattern.front()) return false;
      name.remove_prefix(1);
      pattern.remove_prefix(1);
      continue;
    }
    const std::size_t digits = leading(name, is_digit);
    if (digits < least || (digits > least && name.front() == '0')) return false;
    name.remove_prefix(digits);
    pattern.remove_prefix(least);
  }
  return name.empty();
}

}  // namespace

bool is_data_file_name(std::string_view name) {
  return std::any_of(kPatterns.begin(), kPatterns.end(),
                     [name](std::string_view pattern) { return matches(name, pattern); });
}

}  // namespace ckptsim::storage
