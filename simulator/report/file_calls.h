#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

// Internal to simulator/report: writing such that what is written stays. All throw std::system_error with the
// path.
namespace ckptsim::simulator {

// What errno says of `what` and `path`: "cannot write /results/x".
[[noreturn]] void fail_call(const std::string& what, const std::filesystem::path& path);

void write_all(int file, std::string_view text, const std::filesystem::path& path);

void sync_folder(const std::filesystem::path& folder);

// FOLDER/NAME appears by rename, and whoever finds it finds all of it; durable.
void publish_file(const std::filesystem::path& folder, const std::string& name, const std::string& text);

// The text of a regular file; none where there is no such file, or something else has its name, which is
// neither followed nor waited for.
[[nodiscard]] std::optional<std::string> text_of_regular_file(const std::filesystem::path& path);

}  // namespace ckptsim::simulator
