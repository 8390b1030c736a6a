#include "storage/text/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

namespace ckptsim::storage {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Beyond ASCII: C1 controls, and the characters of Unicode's category Cf and its separators that hide or
// reorder text.
constexpr auto kHidden = std::to_array<Range>({{0x80, 0x9f},
                                               {0xad, 0xad},
                                               {0x61c, 0x61c},
                                               {0x180e, 0x180e},
                                               {0x200b, 0x200f},
                                               {0x2028, 0x202e},
                                               {0x2060, 0x206f},
                                               {0xfeff, 0xfeff},
                                               {0xfff9, 0xfffb},
                                               {0xe0000, 0xe007f}});

struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;  // 0: not UTF-8
};

// A sequence's length by its first byte, its least code point (a longer form of a smaller one is no UTF-8),
// and the bits that the first byte holds of it.
struct Form {
  unsigned char mask;
  unsigned char mark;
  std::size_t bytes;
  char32_t least;
};
constexpr auto kForms = std::to_array<Form>(
    {{0x80, 0x00, 1, 0}, {0xe0, 0xc0, 2, 0x80}, {0xf0, 0xe0, 3, 0x800}, {0xf8, 0xf0, 4, 0x10000}});

Character first_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const auto* const form = std::find_if(kForms.begin(), kForms.end(),
                                        [&](const Form& each) { return (first & each.mask) == each.mark; });
  if (form == kForms.end() || form->bytes > text.size()) return {};
  char32_t code = first & static_cast<unsigned char>(~form->mask);
  for (const char next : text.substr(1, form->bytes - 1)) {
    const auto byte = static_cast<unsigned char>(next);
    if ((byte & 0xc0U) != 0x80U) return {};
    code = (code << 6U) | (byte & 0x3fU);
  }
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < form->least || code > 0x10ffff || surrogate) return {};
  return {code, form->bytes};
}

bool is_hidden(char32_t code) {
  if (code < 0x80) return code < 0x20 || code == 0x7f;
  return std::any_of(kHidden.begin(), kHidden.end(),
                     [code](const Range& range) { return code >= range.first && code <= range.last; });
}

std::string printable_but(std::string_view text, char32_t kept) {
  std::string shown;
  while (!text.empty()) {
    const Character character = first_character(text);
    const std::size_t bytes = std::max<std::size_t>(character.bytes, 1);
    if (character.bytes > 0 && (character.code == kept || !is_hidden(character.code))) {
      shown.append(text.substr(0, bytes));
    } else if (bytes == 1) {
      fmt::format_to(std::back_inserter(shown), "\\x{:02x}", static_cast<unsigned char>(text.front()));
    } else {
      fmt::format_to(std::back_inserter(shown), "\\u{{{:x}}}", static_cast<std::uint32_t>(character.code));
    }
    text.remove_prefix(bytes);
  }
  return shown;
}

constexpr char32_t kNothing = 0x110000;  // no character

}  // namespace

std::string printable(std::string_view text) {
  return printable_but(text, kNothing);
}

std::string printable_lines(std::string_view text) {
  return printable_but(text, U'\n');
}

std::string printable_beginning(std::string_view text, std::size_t most_bytes) {
  if (text.size() <= most_bytes) return printable(text);
  constexpr std::size_t kMostContinuationBytes = 3;
  std::size_t end = most_bytes;
  while (end > 0 && most_bytes - end < kMostContinuationBytes &&
         (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U)
    --end;
  return printable(text.substr(0, end)) + "...";
}

}  // namespace ckptsim::storage
