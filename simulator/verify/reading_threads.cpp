#include "simulator/verify/reading_threads.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "simulator/run/started_thread.h"

namespace ckptsim::simulator {
namespace {

// A file of a checkpoint, by its number through all manifests.
struct NumberedFile {
  const Manifest* manifest = nullptr;
  const ManifestFile* file = nullptr;
};

std::vector<NumberedFile> numbered(const Examination& examination) {
  std::vector<NumberedFile> files;
  for (const Manifest& manifest : examination.manifests) {
    for (const ManifestFile& file : manifest.files)
      files.push_back({&manifest, &file});
  }
  return files;
}

// Shared by the threads: who takes which file, and what came of it.
class Work {
 public:
  Work(const Examination& examination, const storage::Folder& checkpoint,
       const std::vector<std::size_t>& files, std::atomic<std::uint64_t>& read_bytes,
       const Interruption& interruption, std::size_t threads)
      : examination_(examination),
        checkpoint_(checkpoint),
        files_(files),
        read_bytes_(read_bytes),
        interruption_(interruption),
        numbered_(numbered(examination)),
        running_(threads) {}

  void take_files(storage::Target& target) {
    try {
      for (std::size_t i = next_++; i < files_.size() && !interruption_.asked(); i = next_++)
        keep(files_[i], verify(target, files_[i]));
    } catch (...) {
      const std::scoped_lock lock(mutex_);
      if (!error_) error_ = std::current_exception();
      next_ = files_.size();  // the others end, too
    }
    const std::scoped_lock lock(mutex_);
    --running_;
    changed_.notify_one();
  }

  void wait(const std::function<void()>& tick) {
    constexpr std::chrono::milliseconds kTick{50};
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, kTick, [&] { return running_ == 0; })) {
      lock.unlock();
      tick();
      lock.lock();
    }
  }

  // When all have ended.
  std::map<std::size_t, FileOutcome> outcomes() {
    if (error_) std::rethrow_exception(error_);
    return std::move(outcomes_);
  }

 private:
  FileOutcome verify(storage::Target& target, std::size_t number) {
    const auto& [manifest, file] = numbered_[number];
    FileVerifier verifier(target, checkpoint_, *manifest, examination_.backend == storage::Backend::kBuffered,
                          read_bytes_, interruption_);
    return verifier.verify(*file, *examination_.found_bytes[number]);
  }

  void keep(std::size_t number, FileOutcome outcome) {
    const std::scoped_lock lock(mutex_);
    outcomes_.emplace(number, std::move(outcome));
  }

  const Examination& examination_;
  const storage::Folder& checkpoint_;
  const std::vector<std::size_t>& files_;
  std::atomic<std::uint64_t>& read_bytes_;
  const Interruption& interruption_;
  std::vector<NumberedFile> numbered_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t running_;
  std::map<std::size_t, FileOutcome> outcomes_;
  std::exception_ptr error_;
};

}  // namespace

void ReadingThreads::prepare_targets(const Examination& examination, std::size_t count) {
  if (backend_ != examination.backend || io_alignment_ != examination.io_alignment) targets_.clear();
  backend_ = examination.backend;
  io_alignment_ = examination.io_alignment;
  while (targets_.size() < count) {
    targets_.push_back(storage::make_target({.backend = backend_, .io_alignment = io_alignment_}, clock_));
  }
}

std::map<std::size_t, FileOutcome> ReadingThreads::verify(const Examination& examination,
                                                          const storage::Folder& checkpoint,
                                                          const std::vector<std::size_t>& files,
                                                          std::atomic<std::uint64_t>& read_bytes,
                                                          const Interruption& interruption,
                                                          const std::function<void()>& tick) {
  const std::size_t count = std::min(threads_, files.size());
  prepare_targets(examination, count);
  Work work(examination, checkpoint, files, read_bytes, interruption, count);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < count; ++i)
      threads.push_back(simulator::started_thread(
          "to read files", [&work, &target = *targets_[i]] { work.take_files(target); }));
    work.wait(tick);
  }
  return work.outcomes();
}

}  // namespace ckptsim::simulator
