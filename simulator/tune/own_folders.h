#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ckptsim::simulator {

inline constexpr const char* kTuneRunName = "tune";

// TARGET/ckptsim/tune on every target: the only folder that tuning writes to. Throws
// storage::UnsuitableTarget and std::system_error as storage::MarkedDirectory does.
class OwnFolders {
 public:
  explicit OwnFolders(std::vector<std::string> targets) : targets_(std::move(targets)) {}

  // UnsuitableTarget where another run holds a target's lock, or where there is a run of that name already:
  // it may be a user's, and tuning would replace it.
  void check_unused() const;

  // What tuning wrote goes, under each target's lock.
  void remove() const;

 private:
  std::vector<std::string> targets_;
};

}  // namespace ckptsim::simulator
