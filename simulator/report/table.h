#pragma once

#include <string>
#include <vector>

namespace ckptsim::simulator {

enum class TableFormat { kText, kMarkdown, kCsv };

// Rows of text under headings. Columns of numbers are aligned to the right.
struct Table {
  struct Column {
    std::string heading;
    bool number = true;
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // each as long as columns
};

// With a newline at the end. CSV quotes what needs it (RFC 4180, but lines end in \n). Control characters in
// a cell are escaped (storage/text/printable.h), but for line feeds in CSV.
[[nodiscard]] std::string render(const Table& table, TableFormat format);

}  // namespace ckptsim::simulator
