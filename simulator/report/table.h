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

// With a newline at the end. CSV quotes what needs it (RFC 4180, but lines end in \n).
[[nodiscard]] std::string render(const Table& table, TableFormat format);

}  // namespace ckptsim::simulator
