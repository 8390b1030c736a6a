#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/target/marked_directory.h"

namespace ckptsim::simulator {

inline constexpr const char* kTuneRunName = "tune";

// TARGET/ckptsim/tune on every target: the only folder that tuning writes to. Throws
// storage::UnsuitableTarget and std::system_error as storage::MarkedDirectory does.
class OwnFolders {
 public:
  explicit OwnFolders(std::vector<std::string> targets) : targets_(std::move(targets)) {}

  // Takes every target's lock, which this object then keeps: between two measurements nobody gets in.
  // UnsuitableTarget where another run holds a lock, or where there is a run of that name already: it may be
  // a user's, and tuning would replace it.
  void lock_unused();

  // What tuning wrote goes, from every target that was locked. Where one fails the others are still cleared;
  // the first failure is thrown.
  void remove() const;

 private:
  std::vector<std::string> targets_;
  std::vector<std::unique_ptr<storage::MarkedDirectory>> locked_;
};

}  // namespace ckptsim::simulator
