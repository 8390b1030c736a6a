#pragma once

#include <system_error>
#include <vector>

#include "storage/descriptor.h"
#include "storage/target/target.h"

namespace ckptsim::storage {

enum class Caching { kDirect, kPageCache };

// The files that a target has open, and every request that is a plain system call whatever the backend: all
// but kWrite and kRead. Files still open are closed when it goes. One thread.
//
// With Caching::kDirect files are opened with O_DIRECT, and a file that is closed leaves no page in the page
// cache.
class OpenFiles {
 public:
  explicit OpenFiles(Caching caching) noexcept : caching_(caching) {}

  // Empty when carried out in full. EBADF for a file that is not open, as the system would say.
  [[nodiscard]] std::error_code carry_out(const Request& request);

  // -1 when it is not open; the system then answers EBADF.
  [[nodiscard]] int descriptor(int file) const noexcept;

 private:
  // The page that holds the end of the file, where the true length was set and left it in the page cache.
  enum class TailPage { kNotCached, kDirty, kClean };
  struct OpenFile {
    int number = 0;
    Descriptor descriptor;
    TailPage tail_page = TailPage::kNotCached;
  };

  [[nodiscard]] OpenFile* find(int file) noexcept;
  [[nodiscard]] std::error_code open(const Request& request);
  [[nodiscard]] std::error_code open_to_read(const Request& request);
  [[nodiscard]] std::error_code set_length(OpenFile& file, std::uint64_t length) const;
  [[nodiscard]] std::error_code close(OpenFile& file);

  Caching caching_;
  std::vector<OpenFile> files_;
};

}  // namespace ckptsim::storage
