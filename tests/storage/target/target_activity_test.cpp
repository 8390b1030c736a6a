#include "storage/target/target_activity.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "storage/descriptor.h"
#include "tests/storage/support/temporary_folder.h"

namespace ckptsim::storage {
namespace {

using std::chrono::seconds;
using Kind = Request::Kind;

Request request(Kind kind, int file, const std::string& path = {}, std::uint64_t offset = 0) {
  Request made;
  made.kind = kind;
  made.file = file;
  made.path = path;
  made.offset = offset;
  return made;
}

// A request that is carried out within its submission, and delivered.
void carry_out(TargetActivity& activity, const Request& request) {
  activity.begin_submit(request, seconds(1));
  activity.end_call();
  activity.answered(request.kind, request.file, request.offset);
}

TEST(TargetActivity, WaitsForNothingOutsideACall) {
  TargetActivity activity;
  EXPECT_FALSE(TargetActivity::within_call(activity.calls()));
  EXPECT_FALSE(activity.waiting_for().has_value());
  activity.begin_submit(request(Kind::kOpen, 1, "/mnt/a.pt"), seconds(1));
  EXPECT_TRUE(TargetActivity::within_call(activity.calls()));
  activity.end_call();
  EXPECT_FALSE(TargetActivity::within_call(activity.calls()));
  EXPECT_FALSE(activity.waiting_for().has_value()) << "pending, and nobody is stuck";
}

TEST(TargetActivity, CountsEveryBeginningAndEndOfACall) {
  TargetActivity activity;
  activity.begin_submit(request(Kind::kOpen, 1, "/mnt/a.pt"), seconds(1));
  EXPECT_EQ(activity.calls(), 1U);
  activity.end_call();
  activity.begin_wait();
  EXPECT_EQ(activity.calls(), 3U);
  activity.answered(Kind::kOpen, 1, 0);
  EXPECT_EQ(activity.calls(), 3U) << "an answer is no end of the call";
  activity.end_call();
  EXPECT_EQ(activity.calls(), 4U);
}

TEST(TargetActivity, WithinASubmissionWaitsForThatRequest) {
  TargetActivity activity;
  carry_out(activity, request(Kind::kOpen, 1, "/mnt/a.pt"));
  activity.begin_submit(request(Kind::kWrite, 1, {}, 0), seconds(2));
  activity.end_call();  // in flight
  activity.begin_submit(request(Kind::kWrite, 1, {}, 4096), seconds(3));
  const auto waiting = activity.waiting_for();
  ASSERT_TRUE(waiting.has_value());
  EXPECT_EQ(waiting->kind, Kind::kWrite);
  EXPECT_EQ(waiting->path, "/mnt/a.pt");
  EXPECT_EQ(waiting->offset, 4096U);
  EXPECT_EQ(waiting->since, seconds(3));
}

TEST(TargetActivity, WithinAWaitWaitsForTheOldestRequestWithoutAnAnswer) {
  TargetActivity activity;
  carry_out(activity, request(Kind::kOpen, 1, "/mnt/a.pt"));
  for (const std::uint64_t block : {0U, 1U, 2U}) {
    activity.begin_submit(request(Kind::kWrite, 1, {}, 4096 * block), seconds(10 + block));
    activity.end_call();
  }
  activity.begin_wait();
  ASSERT_TRUE(activity.waiting_for().has_value());
  EXPECT_EQ(activity.waiting_for()->offset, 0U);
  activity.answered(Kind::kWrite, 1, 4096);  // out of order
  EXPECT_EQ(activity.waiting_for()->offset, 0U);
  activity.answered(Kind::kWrite, 1, 0);
  ASSERT_TRUE(activity.waiting_for().has_value());
  EXPECT_EQ(activity.waiting_for()->offset, 8192U);
  EXPECT_EQ(activity.waiting_for()->since, seconds(12));
  activity.answered(Kind::kWrite, 1, 8192);
  EXPECT_FALSE(activity.waiting_for().has_value()) << "everything is answered";
}

TEST(TargetActivity, NamesTheFileThatHasTheNumberNow) {
  TargetActivity activity;
  carry_out(activity, request(Kind::kOpen, 1, "/mnt/a.pt"));
  carry_out(activity, request(Kind::kOpenToRead, 2, "/mnt/b.pt"));
  carry_out(activity, request(Kind::kClose, 1));
  carry_out(activity, request(Kind::kOpen, 1, "/mnt/c.pt"));
  activity.begin_submit(request(Kind::kSync, 1), seconds(2));
  EXPECT_EQ(activity.waiting_for()->path, "/mnt/c.pt");
  activity.end_call();
  activity.begin_submit(request(Kind::kRead, 2), seconds(2));
  EXPECT_EQ(activity.waiting_for()->path, "/mnt/b.pt");
}

TEST(TargetActivity, NamesAFileThatIsBeingOpenedOrClosed) {
  TargetActivity activity;
  activity.begin_submit(request(Kind::kOpen, 1, "/mnt/a.pt"), seconds(1));
  EXPECT_EQ(activity.waiting_for()->path, "/mnt/a.pt");
  activity.end_call();
  activity.answered(Kind::kOpen, 1, 0);
  activity.begin_submit(request(Kind::kClose, 1), seconds(2));
  EXPECT_EQ(activity.waiting_for()->path, "/mnt/a.pt");
}

TEST(TargetActivity, NamesTheWholePathOfWhatIsOpenedFromAFolder) {
  const test::TemporaryFolder folder;
  const Descriptor descriptor(open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  TargetActivity activity;
  Request opened = request(Kind::kOpen, 1, "a.pt");
  opened.folder = descriptor.get();
  activity.begin_submit(opened, seconds(1));
  EXPECT_EQ(activity.waiting_for()->path, (folder.path() / "a.pt").string());
  activity.end_call();

  Request synced = request(Kind::kSyncDirectory, 1, ".");
  synced.folder = descriptor.get();
  activity.begin_submit(synced, seconds(2));
  EXPECT_EQ(activity.waiting_for()->path, folder.path().string()) << "of the folder, not of file 1";
}

}  // namespace
}  // namespace ckptsim::storage
