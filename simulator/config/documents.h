#pragma once

#include <filesystem>
#include <string>

#include "simulator/config/json_text.h"

// Internal to simulator/config.
namespace ckptsim::simulator {

// The schema of a run's configuration, and the part of it that a model file follows.
[[nodiscard]] const Json& run_schema();
[[nodiscard]] const Json& model_schema();

// A JSON file: of the user's or shipped in the program.
struct Document {
  Json value;
  std::string origin;            // its name in errors
  std::filesystem::path folder;  // where paths inside it begin; empty: the working directory
};

// Who names a document: the key at `key` in `origin`, or nobody but the command line (both empty).
struct Asker {
  std::string origin;
  KeyPath key;
};

// `text` is a path (it holds a '/', ends with ".json", or names a file), relative to `folder`; or the name of
// a shipped file of that kind ("runs", "models"). Throws ConfigError: for an unknown name, with the asker,
// the known names and the nearest; for a file that cannot be read or is not JSON, with the file.
[[nodiscard]] Document find_document(const std::string& kind, const std::string& text,
                                     const std::filesystem::path& folder, const Asker& asker);

}  // namespace ckptsim::simulator
