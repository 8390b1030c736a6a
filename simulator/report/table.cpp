#include "simulator/report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "storage/text/printable.h"

namespace ckptsim::simulator {
namespace {

// A column is no wider, whatever its cells: one name of 60 KB would otherwise cost every row as many blanks.
constexpr std::size_t kWidestColumn = 200;

// What the cells hold may come from a file that somebody sent.
Table printable(Table table) {
  for (auto& row : table.rows) {
    for (std::string& cell : row)
      cell = storage::printable(cell);
  }
  return table;
}

std::vector<std::size_t> widths(const Table& table) {
  std::vector<std::size_t> result;
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    std::size_t width = table.columns[column].heading.size();
    for (const auto& row : table.rows)
      width = std::max(width, std::min(row[column].size(), kWidestColumn));
    result.push_back(width);
  }
  return result;
}

std::string padded(const std::string& text, std::size_t width, bool number) {
  return number ? fmt::format("{:>{}}", text, width) : fmt::format("{:<{}}", text, width);
}

std::string line(const Table& table, const std::vector<std::string>& cells,
                 const std::vector<std::size_t>& width, std::string_view before, std::string_view between,
                 std::string_view after) {
  std::string text(before);
  for (std::size_t column = 0; column < cells.size(); ++column) {
    if (column > 0) text += between;
    text += padded(cells[column], width[column], table.columns[column].number);
  }
  text += after;
  return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
}

std::vector<std::string> headings(const Table& table) {
  std::vector<std::string> result;
  for (const Table::Column& column : table.columns)
    result.push_back(column.heading);
  return result;
}

std::string render_text(const Table& table) {
  const std::vector<std::size_t> width = widths(table);
  std::string text = line(table, headings(table), width, "", "  ", "");
  for (const auto& row : table.rows)
    text += line(table, row, width, "", "  ", "");
  return text;
}

// A bar ends a cell.
Table without_bars(Table table) {
  for (auto& row : table.rows) {
    for (std::string& cell : row) {
      for (std::size_t at = cell.find('|'); at != std::string::npos; at = cell.find('|', at + 2))
        cell.insert(at, 1, '\\');
    }
  }
  return table;
}

std::string render_markdown(const Table& table) {
  const std::vector<std::size_t> width = widths(table);
  std::string text = line(table, headings(table), width, "| ", " | ", " |");
  text += "|";
  for (std::size_t column = 0; column < width.size(); ++column) {
    text += std::string(width[column] + 1, '-') + (table.columns[column].number ? ":|" : "-|");
  }
  text += "\n";
  for (const auto& row : table.rows)
    text += line(table, row, width, "| ", " | ", " |");
  return text;
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) text += ',';
    if (cells[i].find_first_of(",\"\n\r") == std::string::npos) {
      text += cells[i];
      continue;
    }
    text += '"';
    for (const char c : cells[i])
      text += c == '"' ? std::string("\"\"") : std::string(1, c);
    text += '"';
  }
  return text + "\n";
}

std::string render_csv(const Table& table) {
  std::string text = csv_line(headings(table));
  for (std::vector<std::string> row : table.rows) {
    std::transform(row.begin(), row.end(), row.begin(), storage::printable_lines);
    text += csv_line(row);
  }
  return text;
}

}  // namespace

std::string render(const Table& table, TableFormat format) {
  switch (format) {
    case TableFormat::kText:
      return render_text(printable(table));
    case TableFormat::kMarkdown:
      return render_markdown(without_bars(printable(table)));
    case TableFormat::kCsv:
      return render_csv(table);
  }
  return {};
}

}  // namespace ckptsim::simulator
