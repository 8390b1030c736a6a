#include "simulator/tune/own_folders.h"

#include <fmt/format.h>

#include "storage/errors.h"
#include "storage/target/marked_directory.h"

namespace ckptsim::simulator {

void OwnFolders::check_unused() const {
  for (const std::string& target : targets_) {
    const storage::MarkedDirectory directory(target);
    if (directory.run_bytes(kTuneRunName) == 0) continue;
    throw storage::UnsuitableTarget(
        fmt::format("{0}/{1} is there already, of a run of that name or of a tune that was killed, and "
                    "tuning would replace it; remove it (rm -r {0}/{1}) or choose another target",
                    directory.path().string(), kTuneRunName));
  }
}

void OwnFolders::remove() const {
  for (const std::string& target : targets_)
    storage::MarkedDirectory(target).remove_run(kTuneRunName);
}

}  // namespace ckptsim::simulator
