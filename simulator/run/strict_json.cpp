#include "simulator/run/strict_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <vector>

#include "storage/errors.h"

namespace ckptsim::simulator {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse(const std::string& origin, const std::string& problem) {
  throw storage::FormatError(fmt::format("{}: {}", origin, problem));
}

bool has_control_character(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char letter) {
    const auto code = static_cast<unsigned char>(letter);
    return code < 0x20U || code == 0x7fU;
  });
}

// Messages show what a damaged file holds, and not all of it.
std::string clipped(std::string_view text) {
  constexpr std::size_t kMostBytes = 80;
  return text.size() <= kMostBytes ? std::string(text) : fmt::format("{}...", text.substr(0, kMostBytes));
}

// Sees the parser's events before anything is stored.
class Watcher {
 public:
  Watcher(const std::string& origin, std::size_t deepest) : origin_(origin), deepest_(deepest) {}

  bool operator()(Json::parse_event_t event, const Json& parsed) {
    switch (event) {
      case Json::parse_event_t::object_start:
      case Json::parse_event_t::array_start:
        if (keys_.size() == deepest_)
          refuse(origin_, fmt::format("is nested more than {} levels deep", deepest_));
        keys_.emplace_back();
        break;
      case Json::parse_event_t::object_end:
      case Json::parse_event_t::array_end:
        keys_.pop_back();
        break;
      case Json::parse_event_t::key:
        see_key(parsed.get_ref<const std::string&>());
        break;
      case Json::parse_event_t::value:
        if (parsed.is_string()) see_text(parsed.get_ref<const std::string&>());
        break;
    }
    return true;
  }

 private:
  void see_key(const std::string& key) {
    see_text(key);
    if (!keys_.back().insert(key).second)
      refuse(origin_, fmt::format("the member {} stands twice in one object", clipped(key)));
  }

  void see_text(const std::string& text) const {
    if (has_control_character(text)) refuse(origin_, "a text in it holds a control character");
  }

  const std::string& origin_;
  std::size_t deepest_;
  std::vector<std::set<std::string>> keys_;  // a level each
};

}  // namespace

Json parse_strict_json(std::string_view text, const std::string& origin, std::size_t deepest) {
  Watcher watcher(origin, deepest);
  try {
    return Json::parse(
        text, [&watcher](int, Json::parse_event_t event, Json& parsed) { return watcher(event, parsed); });
  } catch (const Json::parse_error& error) {
    refuse(origin, fmt::format("is not JSON at byte {}", error.byte));
  } catch (const Json::out_of_range&) {
    refuse(origin, "holds a number larger than any that this program writes");
  }
}

void StrictValue::require_members(std::initializer_list<std::string_view> names) const {
  if (!value_.is_object()) fail("is not an object");
  for (const std::string_view name : names) {
    if (!has(name)) fail(fmt::format("has no member {}", name));
  }
  for (const auto& [name, value] : value_.items()) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      fail(fmt::format("has a member {} that this version does not know", clipped(name)));
  }
}

bool StrictValue::has(std::string_view name) const {
  return value_.is_object() && value_.find(name) != value_.end();
}

StrictValue StrictValue::operator[](std::string_view name) const {
  if (!has(name)) fail(fmt::format("has no member {}", name));
  return {*value_.find(name), *this, name, 0};
}

std::size_t StrictValue::size() const {
  if (!value_.is_array()) fail("is not an array");
  return value_.size();
}

StrictValue StrictValue::operator[](std::size_t index) const {
  return {value_.at(index), *this, {}, index};
}

const std::string& StrictValue::text(std::size_t most_bytes) const {
  if (!value_.is_string()) fail("is not a text");
  const auto& text = value_.get_ref<const std::string&>();
  if (text.empty() || text.size() > most_bytes)
    fail(fmt::format("is not a text of 1 to {} bytes", most_bytes));
  return text;
}

bool StrictValue::boolean() const {
  if (!value_.is_boolean()) fail("is neither true nor false");
  return value_.get<bool>();
}

std::uint64_t StrictValue::count(std::uint64_t least, std::uint64_t most) const {
  if (!value_.is_number_unsigned()) fail("is not a whole number of 0 or more that fits in 64 bits");
  const auto number = value_.get<std::uint64_t>();
  if (number < least || number > most) fail(fmt::format("is {}, not {} to {}", number, least, most));
  return number;
}

std::int64_t StrictValue::integer() const {
  constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (value_.is_number_unsigned()) return static_cast<std::int64_t>(count(0, kLargest));
  if (!value_.is_number_integer()) fail("is not a whole number that fits in 64 bits");
  return value_.get<std::int64_t>();
}

double StrictValue::fraction() const {
  if (!value_.is_number()) fail("is not a number");
  const auto number = value_.get<double>();
  if (!(number >= 0 && number <= 1)) fail(fmt::format("is {}, not from 0 to 1", number));
  return number;
}

std::uint32_t StrictValue::crc32() const {
  constexpr std::size_t kDigits = 8;
  const std::string& digits = text(kDigits);
  const bool plain = digits.size() == kDigits && std::all_of(digits.begin(), digits.end(), [](char digit) {
                       return (digit >= '0' && digit <= '9') || (digit >= 'a' && digit <= 'f');
                     });
  if (!plain) fail("is not a CRC of eight lower-case hexadecimal digits");
  std::uint32_t crc = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), crc, 16);
  return crc;
}

void StrictValue::fail(std::string_view problem) const {
  const std::string where = place();
  refuse(origin_, where.empty() ? std::string(problem) : fmt::format("{} {}", where, problem));
}

std::string StrictValue::place() const {
  if (parent_ == nullptr) return {};
  const std::string outer = parent_->place();
  if (name_.empty()) return fmt::format("{}[{}]", outer, index_);
  return outer.empty() ? std::string(name_) : fmt::format("{}.{}", outer, name_);
}

}  // namespace ckptsim::simulator
