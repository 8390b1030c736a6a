#include "simulator/run/rank_save_text.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace ckptsim::simulator {
namespace {

TEST(RankSaveText, ComesBackWhole) {
  RankSave save;
  save.rank = 7;
  save.host = "node-12";
  save.target = 2;
  save.payload_bytes = UINT64_MAX;
  save.file_bytes = 204'519'150'909;
  save.padding_bytes = 3;
  save.blocks = 4;
  save.sync_calls = 66;
  save.duration_ns = 5;
  save.phase_ns = {1, 2, 3, 4, 5, 6};
  save.idle_ns = 8;
  save.depth_integral_ns = 9;
  save.latency_p50_ns = 10;
  save.latency_p99_ns = 11;
  save.latency_p999_ns = 12;
  save.latency_max_ns = 13;
  save.busy_resolution_ns = 14;
  save.max_rss_bytes = 15;
  save.profile = RankProfile{.generation_ns = 16, .crc_ns = 17, .submission_ns = 18, .wait_ns = 19};
  save.started_ns = 17'000'000'000'000;
  save.exit_ns = 15;
  save.busy = {{0, 2}, {3, 130}, {130, 130}, {4'000'000'000, 3'000'000'000'000}};
  const RankSave back = rank_save_from_text(rank_save_to_text(save));
  EXPECT_EQ(rank_save_to_text(back), rank_save_to_text(save));
  EXPECT_EQ(back.host, "node-12");
  EXPECT_EQ(back.payload_bytes, UINT64_MAX);
  EXPECT_EQ(back.phase_ns, save.phase_ns);
  EXPECT_EQ(back.latency_max_ns, 13);
  EXPECT_EQ(back.busy, save.busy);
  EXPECT_EQ(back.started_ns, save.started_ns);
  EXPECT_EQ(back.exit_ns, save.exit_ns);
  EXPECT_EQ(back.max_rss_bytes, 15U);
  EXPECT_EQ(back.profile, save.profile);
}

TEST(RankSaveText, ComesBackWithoutAProfileWhereNoneWasTaken) {
  RankSave save;
  save.host = "node";
  save.busy = {{1, 2}};
  const RankSave back = rank_save_from_text(rank_save_to_text(save));
  EXPECT_FALSE(back.profile.has_value());
  EXPECT_EQ(back.busy, save.busy);
}

TEST(RankSaveText, IsAFewBytesForAnInterval) {
  RankSave save{.host = "h"};
  for (std::int64_t i = 0; i < 8192; ++i)
    save.busy.push_back({i * 40'000'000, i * 40'000'000 + 39'000'000});
  EXPECT_LT(rank_save_to_text(save).size(), 8192U * 8);
  EXPECT_EQ(rank_save_from_text(rank_save_to_text(save)).busy, save.busy);
}

TEST(RankSaveText, RefusesWhatIsCutShort) {
  RankSave busy{.host = "h"};
  busy.busy = {{1, 300}};
  const std::string whole = rank_save_to_text(busy);
  EXPECT_EQ(rank_save_from_text(whole).busy, busy.busy);
  EXPECT_THROW((void)rank_save_from_text(whole.substr(0, whole.size() - 1)), std::invalid_argument);
  EXPECT_THROW((void)rank_save_from_text(whole.substr(0, whole.size() - 3)), std::invalid_argument);
  const std::string text = rank_save_to_text({});
  EXPECT_THROW((void)rank_save_from_text(text.substr(0, text.size() / 2)), std::invalid_argument);
  EXPECT_THROW((void)rank_save_from_text(""), std::invalid_argument);
  EXPECT_THROW((void)rank_save_from_text("host 0 99999999999 1"), std::invalid_argument);
}

}  // namespace
}  // namespace ckptsim::simulator
