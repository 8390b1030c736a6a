#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "models/errors.h"
#include "simulator/cli/command.h"
#include "simulator/engine/failure.h"
#include "storage/text/printable.h"
#include "storage/torch/archive_reader.h"

namespace ckptsim::cli {
namespace {

namespace torch = storage::torch;
using Json = nlohmann::ordered_json;
using simulator::Table;

struct InspectOptions {
  std::string file;
  bool quick = false;
  OutputFormat format;
};

struct CheckedRecord {
  torch::ArchiveRecord record;
  std::uint64_t alignment = 0;  // the largest power of two that divides the payload's offset, at most 4096
  bool checked = false;
  std::uint32_t crc32 = 0;  // of the payload as it is now
  [[nodiscard]] bool wrong() const { return checked && crc32 != record.crc32; }
};

std::vector<CheckedRecord> check_records(const InspectOptions& options,
                                         const torch::ArchiveContents& contents) {
  std::vector<CheckedRecord> records;
  for (const torch::ArchiveRecord& record : contents.records) {
    CheckedRecord checked{.record = record, .alignment = 4096};
    while (record.payload_offset % checked.alignment != 0)
      checked.alignment /= 2;
    if (!options.quick) {
      checked.crc32 = torch::payload_crc32(options.file, record);
      checked.checked = true;
    }
    records.push_back(checked);
  }
  return records;
}

std::string crc_words(const CheckedRecord& record) {
  if (!record.checked) return "not checked";
  return record.wrong() ? fmt::format("WRONG, is {:08x}", record.crc32) : std::string("right");
}

Table record_table(const std::vector<CheckedRecord>& records) {
  Table table;
  table.columns = {{"record", false}, {"offset"}, {"bytes"},  {"aligned to"},
                   {"zip64", false},  {"crc32"},  {"", false}};
  for (const CheckedRecord& checked : records) {
    table.rows.push_back({checked.record.name, fmt::format("{}", checked.record.payload_offset),
                          fmt::format("{}", checked.record.bytes), fmt::format("{}", checked.alignment),
                          checked.record.zip64 ? "yes" : "no", fmt::format("{:08x}", checked.record.crc32),
                          crc_words(checked)});
  }
  return table;
}

Table tensor_table(const torch::ArchiveContents& contents) {
  Table table;
  table.columns = {{"tensor", false}, {"storage", false}, {"shape", false}, {"record", false}};
  for (const torch::ArchiveTensor& tensor : contents.tensors) {
    table.rows.push_back({tensor.name, tensor.storage_class,
                          fmt::format("[{}]", fmt::join(tensor.shape, ", ")), "data/" + tensor.storage_key});
  }
  return table;
}

std::string scalar_text(const std::variant<std::int64_t, std::string>& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *number);
  return fmt::format("\"{}\"", storage::printable(std::get<std::string>(value)));
}

std::string text_report(const InspectOptions& options, const torch::ArchiveContents& contents,
                        const std::vector<CheckedRecord>& records) {
  std::string text = fmt::format("{}: {} bytes, root \"{}\", {} records, {} tensors\n\n",
                                 storage::printable(options.file), contents.file_bytes,
                                 storage::printable(contents.root), records.size(), contents.tensors.size());
  text += render(record_table(records), options.format.table()) + "\n";
  text += render(tensor_table(contents), options.format.table());
  if (!contents.scalars.empty()) text += "\n";
  for (const auto& [name, value] : contents.scalars)
    text += fmt::format("{} = {}\n", storage::printable(name), scalar_text(value));
  return text;
}

std::string json_report(const InspectOptions& options, const torch::ArchiveContents& contents,
                        const std::vector<CheckedRecord>& checked_records) {
  Json records = Json::array();
  for (const CheckedRecord& checked : checked_records) {
    Json record = {{"name", checked.record.name},
                   {"header_offset", checked.record.header_offset},
                   {"payload_offset", checked.record.payload_offset},
                   {"bytes", checked.record.bytes},
                   {"alignment", checked.alignment},
                   {"zip64", checked.record.zip64},
                   {"crc32", fmt::format("{:08x}", checked.record.crc32)}};
    if (checked.checked) record["crc32_right"] = !checked.wrong();
    records.push_back(std::move(record));
  }
  Json tensors = Json::array();
  for (const torch::ArchiveTensor& tensor : contents.tensors) {
    tensors.push_back({{"name", tensor.name},
                       {"storage", tensor.storage_class},
                       {"shape", tensor.shape},
                       {"record", "data/" + tensor.storage_key},
                       {"storage_offset", tensor.storage_offset},
                       {"storage_elements", tensor.storage_elements}});
  }
  // Added without looking for a key that is there: the reader has seen to it that each name stands once.
  Json::object_t scalars;
  for (const auto& [name, value] : contents.scalars)
    scalars.emplace_back(name, std::visit([](const auto& plain) { return Json(plain); }, value));
  const Json report = {{"file", options.file},          {"file_bytes", contents.file_bytes},
                       {"root", contents.root},         {"records", std::move(records)},
                       {"tensors", std::move(tensors)}, {"scalars", std::move(scalars)}};
  // In ASCII: no character reaches the terminal that it might obey.
  return report.dump(1, ' ', true, Json::error_handler_t::replace) + "\n";
}

int inspect(const InspectOptions& options) {
  if (!std::filesystem::is_regular_file(options.file)) {
    throw ConfigError(
        "", fmt::format("{} is not a file; name one that torch.save or this program wrote", options.file));
  }
  const torch::ArchiveContents contents = torch::read_archive(options.file);
  const std::vector<CheckedRecord> records = check_records(options, contents);
  std::string text;
  if (options.format.json) {
    text = json_report(options, contents, records);
  } else if (options.format.csv) {
    text = render(record_table(records), simulator::TableFormat::kCsv);
  } else {
    text = text_report(options, contents, records);
  }
  print(text);
  int wrong = 0;
  for (const CheckedRecord& checked : records)
    wrong += checked.wrong() ? 1 : 0;
  if (wrong == 0) return static_cast<int>(simulator::ExitCode::kDone);
  fmt::print(stderr, "ckptsim: {}: {} of {} records do not have the CRC-32 that the directory gives them\n",
             storage::printable(options.file), wrong, records.size());
  return static_cast<int>(simulator::ExitCode::kVerification);
}

}  // namespace

void add_inspect_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* command =
      app.add_subcommand("inspect", "Records, tensors, alignment and CRCs of a torch.save file");
  command->footer("Example:\n  ckptsim inspect layer_000-model_00-model_states.pt");
  command
      ->add_option(
          "FILE", options->file,
          "A torch.save file of this program, or another that holds dicts of tensors, numbers and texts")
      ->required();
  command->add_flag("--quick", options->quick, "Reads the directory and the pickle, not the payloads");
  add_output_format(*command, options->format);
  command->callback([options, &exit_code] { exit_code = inspect(*options); });
}

}  // namespace ckptsim::cli
