#include "simulator/config/documents.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "models/errors.h"
#include "simulator/config/nearest_name.h"
#include "simulator/config/resources.h"
#include "simulator/config/text_file.h"

namespace ckptsim::simulator {
namespace {

bool looks_like_a_path(std::string_view text) {
  constexpr std::string_view suffix = ".json";
  return text.find('/') != std::string_view::npos ||
         (text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix);
}

// A folder does not count: results/NAME must not hide the shipped run NAME.
bool is_a_file(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored) && !std::filesystem::is_directory(path, ignored);
}

[[noreturn]] void refuse_name(const std::string& kind, const std::string& text, const Asker& asker) {
  const std::vector<std::string> names = resource_names(kind);
  const auto nearest = nearest_name(text, names);
  const std::string prefix =
      asker.origin.empty() ? "" : fmt::format("{}: {} ", asker.origin, dotted(asker.key));
  throw ConfigError(
      json_pointer(asker.key),
      fmt::format("{}{} is neither a file nor one of the shipped {} ({}){}", prefix, shown(text), kind,
                  fmt::join(names, ", "), nearest ? fmt::format("; did you mean {}?", *nearest) : ""));
}

Json shipped_schema(std::string_view name) {
  return parse_json(std::string(find_resource("schema", name).value()),
                    fmt::format("configs/schema/{}.json", name));
}

}  // namespace

const Json& run_schema() {
  static const Json schema = shipped_schema("run.schema");
  return schema;
}

const Json& model_schema() {
  static const Json schema = [] {
    Json model = run_schema().at("properties").at("model");
    model["type"] = "object";  // a model's file holds no name of another
    model["title"] = "a JSON object with a model's dimensions";
    return model;
  }();
  return schema;
}

Document find_document(const std::string& kind, const std::string& text, const std::filesystem::path& folder,
                       const Asker& asker) {
  const std::filesystem::path path = folder / text;
  if (looks_like_a_path(text) || is_a_file(path)) {
    return {parse_json(read_text_file(path.string(), kLargestDocumentBytes), path.string()), path.string(),
            path.parent_path()};
  }
  const std::optional<std::string_view> shipped = find_resource(kind, text);
  if (!shipped) {
    refuse_name(kind, text, asker);
  }
  const std::string origin = fmt::format("configs/{}/{}.json", kind, text);
  return {parse_json(std::string(*shipped), origin), origin, {}};
}

}  // namespace ckptsim::simulator
