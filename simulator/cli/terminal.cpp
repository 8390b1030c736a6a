#include "simulator/cli/terminal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>

namespace ckptsim::cli {
namespace {

// Launchers that forward the bytes of stderr as they come.
constexpr std::array<const char*, 4> kLaunchers = {"mpirun", "mpiexec", "orterun", "prterun"};

bool is_launcher(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/comm", process));
  std::string name;
  std::getline(file, name);
  return std::find(kLaunchers.begin(), kLaunchers.end(), name) != kLaunchers.end();
}

}  // namespace

bool stderr_reaches_a_terminal() {
  if (isatty(STDERR_FILENO) == 1) return true;
  const pid_t parent = getppid();
  if (!is_launcher(parent)) return false;
  const int launcher_stderr =
      open(fmt::format("/proc/{}/fd/2", parent).c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
  if (launcher_stderr < 0) return false;
  const bool terminal = isatty(launcher_stderr) == 1;
  close(launcher_stderr);
  return terminal;
}

}  // namespace ckptsim::cli
