#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

// Internal to simulator/run: the JSON library stays behind its sources.
namespace ckptsim::simulator {

// Parses JSON that may have been damaged or forged: FormatError, beginning with `origin`, for a syntax error,
// a key that stands twice in one object, a control character in a text, a number too large for a double, and
// more than `deepest` levels of nesting. Memory stays within a constant times the text.
[[nodiscard]] nlohmann::json parse_strict_json(std::string_view text, const std::string& origin,
                                               std::size_t deepest);

// A value and where it stands in its document. What it is asked for and is not is a FormatError that says
// where. Refers to the document, to the origin and to the value that it was found in, which outlive it.
class StrictValue {
 public:
  StrictValue(const nlohmann::json& document, const std::string& origin)
      : value_(document), origin_(origin), parent_(nullptr) {}

  // An object with exactly these members.
  void require_members(std::initializer_list<std::string_view> names) const;
  [[nodiscard]] bool has(std::string_view name) const;

  [[nodiscard]] StrictValue operator[](std::string_view name) const;  // of an object, which has it
  [[nodiscard]] std::size_t size() const;                             // of an array
  [[nodiscard]] StrictValue operator[](std::size_t index) const;      // of an array, below size()

  [[nodiscard]] const std::string& text(std::size_t most_bytes = 255) const;
  [[nodiscard]] bool is_text() const { return value_.is_string(); }
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] std::uint64_t count(std::uint64_t least = 0,
                                    std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) const;
  [[nodiscard]] std::int64_t integer() const;
  [[nodiscard]] double fraction() const;  // from 0 to 1
  [[nodiscard]] std::uint32_t crc32() const;

  // "ORIGIN: files[3].name PROBLEM"
  [[noreturn]] void fail(std::string_view problem) const;

 private:
  StrictValue(const nlohmann::json& value, const StrictValue& parent, std::string_view name,
              std::size_t index)
      : value_(value), origin_(parent.origin_), parent_(&parent), name_(name), index_(index) {}
  [[nodiscard]] std::string place() const;

  const nlohmann::json& value_;
  const std::string& origin_;
  const StrictValue* parent_;
  std::string_view name_;  // in an object; empty in an array
  std::size_t index_ = 0;
};

}  // namespace ckptsim::simulator
