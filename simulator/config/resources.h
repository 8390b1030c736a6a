#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ckptsim::simulator {

// The files of configs/ that were built into the program. `kind` is a folder ("models", "runs", "schema"),
// `name` a file's name without ".json" ("llama3.1-8b", "run.schema").

// The file's text; empty where there is no such file.
[[nodiscard]] std::optional<std::string_view> find_resource(std::string_view kind, std::string_view name);

// Names of one kind, sorted.
[[nodiscard]] std::vector<std::string> resource_names(std::string_view kind);

}  // namespace ckptsim::simulator
