#include "simulator/tune/own_folders.h"

#include <fmt/format.h>

#include <exception>

#include "storage/errors.h"

namespace ckptsim::simulator {

void OwnFolders::lock_unused() {
  for (const std::string& target : targets_) {
    locked_.push_back(std::make_unique<storage::MarkedDirectory>(target));
    const storage::MarkedDirectory& directory = *locked_.back();
    if (storage::MarkedDirectory::survey(target, kTuneRunName).entries == 0) continue;
    throw storage::UnsuitableTarget(
        fmt::format("{0}/{1} is there already, of a run of that name or of a tune that was killed, and "
                    "tuning would replace it; remove it (ckptsim clean {0}/{1}) or choose another target",
                    directory.path().string(), kTuneRunName));
  }
}

void OwnFolders::remove() const {
  std::exception_ptr first_failure;
  for (const auto& directory : locked_) {
    try {
      directory->remove_run(kTuneRunName);
    } catch (const std::exception&) {
      if (!first_failure) first_failure = std::current_exception();
    }
  }
  if (first_failure) std::rethrow_exception(first_failure);
}

}  // namespace ckptsim::simulator
