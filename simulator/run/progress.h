#pragma once

#include <cstdint>
#include <string_view>

namespace ckptsim::simulator {

// Where process 0 tells how far the run is. Called from one thread.
class Progress {
 public:
  Progress() = default;
  virtual ~Progress() = default;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // False: nobody looks, and the other processes need not report.
  [[nodiscard]] virtual bool wanted() const { return false; }

  // `checkpoints`, `loads`: how many there are to write and to read back in all, of which a resumed run has
  // `finished` and `loaded` behind it.
  virtual void begin_run(std::uint64_t /*checkpoints*/, std::uint64_t /*checkpoint_bytes*/,
                         std::uint64_t /*loads*/, std::uint64_t /*finished*/, std::uint64_t /*loaded*/) {}
  virtual void begin_removal(std::string_view /*what*/) {}  // "the earlier run": until the next begin
  virtual void begin_checkpoint(std::int64_t /*pass*/, bool /*warmup*/, std::int64_t /*checkpoint*/) {}
  virtual void written(std::uint64_t /*bytes_of_this_checkpoint*/) {}  // or read, in a load
  virtual void end_checkpoint() {}
  virtual void begin_load(std::int64_t /*pass*/, bool /*warmup*/, std::int64_t /*checkpoint*/) {}
  virtual void end_load() {}
  virtual void end_run() {}
};

}  // namespace ckptsim::simulator
