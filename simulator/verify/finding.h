#pragma once

#include <cstdint>
#include <string>

namespace ckptsim::simulator {

// One thing that is not as it should be. Texts that do not apply are empty.
struct Finding {
  // "bytes": they differ; "content": the whole file is another's, or another checkpoint's; "crc": only a CRC
  // in the manifest does; "layout": the manifest's records are not those of its entries; "missing",
  // "not_a_file" (a link, a folder, a FIFO), "too_short", "too_long", "unlisted": the file; "manifest": it
  // cannot be taken; "read_error": the system's, so that nothing is known.
  std::string kind;
  std::string file;               // below the checkpoint's folder
  std::uint64_t offset = 0;       // in the file: where the range begins
  std::uint64_t bytes = 0;        // its length; 0 where no range is to blame
  std::uint64_t wrong_bytes = 0;  // of these, those that differ, are missing, or are too many
  std::string part;               // "payload", "header", "padding", "descriptor", "directory", "end"
  std::string record;             // "data/3"
  std::string tensor;             // its key, where the range is in a tensor
  std::uint64_t tensor_offset = 0;
  std::string expected;  // of at most eight bytes that differ, "3f 00"; empty where there are more
  std::string found;
  std::string words;  // the rest of the sentence

  [[nodiscard]] bool is_read_error() const { return kind == "read_error"; }
};

// "FILE: byte 4096 differs, in the payload of record data/3, tensor KEY at byte 0; the file's own CRC ...".
[[nodiscard]] std::string sentence(const Finding& finding);
// The same without what the CRCs say.
[[nodiscard]] std::string headline(const Finding& finding);

// As a message between processes, and back.
[[nodiscard]] std::string finding_to_text(const Finding& finding);
[[nodiscard]] Finding finding_from_text(const std::string& text);

}  // namespace ckptsim::simulator
