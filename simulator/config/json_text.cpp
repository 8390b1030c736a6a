#include "simulator/config/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "models/errors.h"

namespace ckptsim::simulator {
namespace {

// Above 2^53 a double no longer holds every integer, so that a conversion could change what was written.
constexpr double kLargestExactInteger = 9007199254740992.0;

// Cuts at a character's beginning, never inside a UTF-8 sequence.
std::string clipped(std::string text, std::size_t most_bytes) {
  if (text.size() <= most_bytes) {
    return text;
  }
  while (most_bytes > 0 && (static_cast<unsigned char>(text[most_bytes]) & 0xC0U) == 0x80U) {
    --most_bytes;
  }
  text.resize(most_bytes);
  return text + "...";
}

[[noreturn]] void refuse(const KeyPath& path, const std::string& origin, const std::string& message) {
  const std::string key = clipped(dotted(path), 200);
  throw ConfigError(json_pointer(path),
                    fmt::format("{}: {}{}", origin, key.empty() ? "" : key + " ", message));
}

// Watches the parser: counts depth, remembers each object's keys, and sees every value before it is stored.
class Watcher {
 public:
  Watcher(const std::string& origin, const KeyPath& at) : origin_(origin), at_(at) {}

  bool operator()(Json::parse_event_t event, Json& parsed) {
    switch (event) {
      case Json::parse_event_t::object_start:
      case Json::parse_event_t::array_start:
        open();
        break;
      case Json::parse_event_t::object_end:
      case Json::parse_event_t::array_end:
        levels_.pop_back();
        break;
      case Json::parse_event_t::key:
        see_key(parsed.get<std::string>());
        break;
      case Json::parse_event_t::value:
        see_value(parsed);
        break;
    }
    return true;
  }

  // Of the value that is being read.
  [[nodiscard]] KeyPath path() const {
    KeyPath path = at_;
    for (const Level& level : levels_) {
      if (!level.key.empty()) {
        path.push_back(level.key);
      }
    }
    return path;
  }

 private:
  struct Level {
    std::set<std::string> keys;
    std::string key;  // the last one; empty in an array
  };

  void open() {
    if (levels_.size() == kDeepestNesting) {
      refuse(path(), origin_,
             fmt::format("is nested more than {} levels deep, which no key needs; remove brackets",
                         kDeepestNesting));
    }
    levels_.emplace_back();
  }

  void see_key(std::string key) {
    Level& level = levels_.back();
    const bool added = level.keys.insert(key).second;
    level.key = std::move(key);
    require_plain_text(level.key, path(), origin_);
    if (!added) {
      refuse(path(), origin_, "stands twice in one object; keep one of the two");
    }
  }

  void see_value(Json& value) const {
    if (value.is_string()) {
      require_plain_text(value.get_ref<const std::string&>(), path(), origin_);
    } else if (value.is_number_float()) {
      const double number = value.get<double>();
      if (std::abs(number) <= kLargestExactInteger && std::trunc(number) == number) {
        value = static_cast<std::int64_t>(number);
      }
    }
  }

  const std::string& origin_;
  const KeyPath& at_;
  std::vector<Level> levels_;
};

// The parser counts bytes from 1 and reports the last one that it read; editors count characters.
std::string line_and_column(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, byte > 0 ? byte - 1 : 0);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t newline = before.rfind('\n');
  const std::string_view in_line = newline == std::string_view::npos ? before : before.substr(newline + 1);
  const auto column = std::count_if(in_line.begin(), in_line.end(), [](char letter) {
    return (static_cast<unsigned char>(letter) & 0xC0U) != 0x80U;
  });
  return fmt::format("line {}, column {}", line, column + 1);
}

// "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ..." without the library's
// name and its own position.
std::string parser_words(std::string_view what) {
  for (const std::string_view mark : {"] ", ": "}) {
    if (const std::size_t at = what.find(mark); at != std::string_view::npos) {
      what.remove_prefix(at + mark.size());
    }
  }
  return clipped(std::string(what), 300);
}

}  // namespace

Json parse_json(const std::string& text, const std::string& origin, const KeyPath& at) {
  if (text.size() > kLargestDocumentBytes) {
    refuse(at, origin,
           fmt::format("is larger than {} bytes, more than any configuration needs", kLargestDocumentBytes));
  }
  Watcher watcher(origin, at);
  try {
    return Json::parse(
        text, [&watcher](int, Json::parse_event_t event, Json& parsed) { return watcher(event, parsed); });
  } catch (const Json::parse_error& error) {
    refuse(at, origin,
           fmt::format("{}{}: {}", at.empty() ? "" : "is not JSON: ", line_and_column(text, error.byte),
                       parser_words(error.what())));
  } catch (const Json::out_of_range& error) {  // "... number overflow parsing '1e400'"
    const std::string_view what = error.what();
    const std::size_t quote = std::min(what.find('\''), what.size());
    refuse(watcher.path(), origin,
           fmt::format("has a number larger than any key takes, {}; write a smaller one",
                       clipped(std::string(what.substr(quote)), 60)));
  }
}

void require_plain_text(const std::string& text, const KeyPath& path, const std::string& origin) {
  if (text.size() > kLongestTextBytes) {
    refuse(path, origin, fmt::format("is a text of more than {} bytes; shorten it", kLongestTextBytes));
  }
  const auto is_control = [](char letter) {
    const auto code = static_cast<unsigned char>(letter);
    return code < 0x20U || code == 0x7FU;
  };
  if (std::any_of(text.begin(), text.end(), is_control)) {
    refuse(path, origin, "holds a control character (a line break, a tab or a NUL); remove it");
  }
  try {
    static_cast<void>(Json(text).dump());
  } catch (const Json::type_error&) {
    refuse(path, origin, "is not UTF-8; JSON can hold no other text");
  }
}

std::string shown(const Json& value) {
  return clipped(value.dump(-1, ' ', false, Json::error_handler_t::replace), 80);
}

}  // namespace ckptsim::simulator
