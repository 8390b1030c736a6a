#include "storage/drive/mount_table.h"

#include <charconv>
#include <optional>

namespace ckptsim::storage {
namespace {

// Fields before the " - " that ends the optional ones, and after it.
constexpr std::size_t kDeviceField = 2;
constexpr std::size_t kMountPointField = 4;
constexpr std::size_t kOptionsField = 5;
constexpr std::size_t kFewestFieldsBefore = 6;
constexpr std::size_t kFewestFieldsAfter = 3;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return parts;
}

// The kernel writes space, tab, newline and backslash as a backslash and three octal digits.
std::string unescape(std::string_view field) {
  constexpr std::size_t digit_count = 3;
  std::string plain;
  for (std::size_t i = 0; i < field.size(); ++i) {
    unsigned code = 0;
    if (field[i] == '\\' && i + digit_count < field.size()) {
      const char* const digits = field.data() + i + 1;
      const auto [end, error] = std::from_chars(digits, digits + digit_count, code, 8);
      if (error == std::errc() && end == digits + digit_count) {
        plain.push_back(static_cast<char>(code));
        i += digit_count;
        continue;
      }
    }
    plain.push_back(field[i]);
  }
  return plain;
}

std::string join_options(std::string_view of_mount, std::string_view of_superblock) {
  std::string joined(of_mount);
  for (const std::string_view option : split(of_superblock, ',')) {
    bool known = false;
    for (const std::string_view other : split(of_mount, ','))
      known = known || other == option;
    if (known) continue;
    joined += ',';
    joined += option;
  }
  return joined;
}

bool parse_number(std::string_view text, unsigned& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

std::optional<Mount> parse_line(std::string_view line) {
  const std::size_t separator = line.find(" - ");
  if (separator == std::string_view::npos) return std::nullopt;
  const auto before = split(line.substr(0, separator), ' ');
  const auto after = split(line.substr(separator + 3), ' ');
  if (before.size() < kFewestFieldsBefore || after.size() < kFewestFieldsAfter) return std::nullopt;

  Mount mount;
  const auto device = split(before[kDeviceField], ':');
  if (device.size() != 2 || !parse_number(device[0], mount.device_major) ||
      !parse_number(device[1], mount.device_minor)) {
    return std::nullopt;
  }
  mount.mount_point = unescape(before[kMountPointField]);
  mount.type = unescape(after[0]);
  mount.source = unescape(after[1]);
  mount.options = join_options(before[kOptionsField], after[2]);
  return mount;
}

bool contains(std::string_view mount_point, std::string_view path) {
  if (mount_point == "/") return path.starts_with('/');
  return path.starts_with(mount_point) &&
         (path.size() == mount_point.size() || path[mount_point.size()] == '/');
}

}  // namespace

std::vector<Mount> parse_mount_table(std::string_view mountinfo) {
  std::vector<Mount> mounts;
  for (const std::string_view line : split(mountinfo, '\n')) {
    if (auto mount = parse_line(line)) mounts.push_back(std::move(*mount));
  }
  return mounts;
}

const Mount* mount_of(const std::vector<Mount>& mounts, unsigned device_major, unsigned device_minor,
                      std::string_view path) {
  const Mount* on_device = nullptr;
  const Mount* by_path = nullptr;
  const auto take_longer = [](const Mount*& best, const Mount& mount) {
    if (best == nullptr || mount.mount_point.size() >= best->mount_point.size()) best = &mount;
  };
  for (const Mount& mount : mounts) {
    if (!contains(mount.mount_point, path)) continue;
    take_longer(by_path, mount);
    if (mount.device_major == device_major && mount.device_minor == device_minor)
      take_longer(on_device, mount);
  }
  return on_device != nullptr ? on_device : by_path;
}

}  // namespace ckptsim::storage
