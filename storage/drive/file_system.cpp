#include "storage/drive/file_system.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <limits>
#include <system_error>

#include "storage/call_listener.h"
#include "storage/drive/mount_table.h"

namespace ckptsim::storage {
namespace {

// The kernel's own table: /etc/mtab may be a file that somebody else keeps.
constexpr const char* kMountTable = "/proc/self/mountinfo";

std::string read_mount_table() {
  std::ifstream file(kMountTable);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file || text.empty()) throw std::system_error(EIO, std::system_category(), kMountTable);
  return text;
}

}  // namespace

FileSystemFacts file_system_facts(const std::filesystem::path& path) {
  CallListener::tell("looking at", path);
  struct statvfs space {};
  if (statvfs(path.c_str(), &space) != 0)
    throw std::system_error(errno, std::system_category(), path.string());
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) throw std::system_error(errno, std::system_category(), path.string());

  FileSystemFacts facts;
  facts.block_bytes = space.f_frsize;
  facts.capacity_bytes = space.f_blocks * facts.block_bytes;
  facts.available_bytes = space.f_bavail * facts.block_bytes;
  facts.available_files = space.f_files == 0 ? std::numeric_limits<std::uint64_t>::max() : space.f_favail;
  facts.read_only = (space.f_flag & ST_RDONLY) != 0;

  const auto mounts = parse_mount_table(read_mount_table());
  const std::string place = std::filesystem::canonical(path).string();
  const Mount* const mount = mount_of(mounts, major(status.st_dev), minor(status.st_dev), place);
  if (mount == nullptr) {
    throw std::system_error(ENOENT, std::system_category(), place + ": no entry in " + kMountTable);
  }
  facts.type = mount->type;
  facts.mount_point = mount->mount_point;
  facts.mount_options = mount->options;
  facts.source = mount->source;
  return facts;
}

}  // namespace ckptsim::storage
