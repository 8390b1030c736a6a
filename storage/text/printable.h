#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Text of unknown origin (a name in a file that somebody sent) as a terminal may show it. Escape sequences in
// a name could otherwise rewrite the screen, and a line break could forge a message.
namespace ckptsim::storage {

// Control characters, line breaks among them, become \x1b or \u{9b}, as do characters that change the
// direction of writing or take no room, and bytes that are not UTF-8. All else stays as it is: what is
// printable is returned unchanged.
[[nodiscard]] std::string printable(std::string_view text);

// The same but for line feeds, which stay.
[[nodiscard]] std::string printable_lines(std::string_view text);

// For a message: printable, and cut after `most_bytes` of `text`, at a character's end, with "..." in place
// of the rest.
[[nodiscard]] std::string printable_beginning(std::string_view text, std::size_t most_bytes = 200);

}  // namespace ckptsim::storage
