#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "parallelism/checkpoint_files.h"
#include "storage/target/data_file_name.h"
#include "tests/models/llama.h"

namespace ckptsim::parallelism {
namespace {

using storage::is_data_file_name;

// The names of all files that any layout makes, of every recipe, ZeRO stage, and a topology with numbers that
// outgrow their digits.
std::set<std::string> all_names() {
  models::Transformer deep = models::testing::tiny();
  deep.layers = 1001;
  std::set<std::string> names;
  for (const std::string_view layout : layout_names()) {
    for (const std::int64_t zero_stage : {0, 1, 3}) {
      for (const char* recipe : {"adam8bit", "adam-mixed", "weights-only"}) {
        const Topology topology{2, 51, 11, zero_stage};
        for (std::int64_t rank = 0; rank < topology.ranks(); ++rank) {
          for (const CheckpointFile& file :
               files_of_rank(deep, models::training_state(recipe), topology, layout, 1.0, rank))
            names.insert(file.name);
        }
      }
    }
  }
  return names;
}

TEST(DataFileNames, OfEveryLayoutAreRecognised) {
  const std::set<std::string> names = all_names();
  EXPECT_GT(names.size(), 1000U);
  for (const char* widest : {"layer_1000-model_01-model_states.pt", "mp_rank_101_model_states.pt",
                             "zero_pp_rank_10_mp_rank_101_optim_states.pt"})
    EXPECT_TRUE(names.contains(widest)) << widest;
  for (const std::string& name : names)
    EXPECT_TRUE(is_data_file_name(name)) << name;
}

// Digits are left alone: another number is another file of a checkpoint.
TEST(DataFileNames, WithOneLetterMoreLessOrOtherwiseAreNotRecognised) {
  std::mt19937 dice(1);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same neighbours every time
  const std::string letters = "abcxyzABC_-. /\n*";
  const auto below = [&dice](std::size_t count) { return dice() % count; };
  std::size_t tried = 0;
  for (const std::string& name : all_names()) {
    for (int i = 0; i < 8; ++i) {
      const std::size_t at = below(name.size());
      const bool digit = name[at] >= '0' && name[at] <= '9';
      const char letter = letters[below(letters.size())];
      std::string more = name;
      more.insert(at, 1, letter);
      EXPECT_FALSE(is_data_file_name(more)) << more;
      EXPECT_FALSE(is_data_file_name(name.substr(0, at))) << name.substr(0, at);
      if (digit || letter == name[at]) continue;
      std::string other = name;
      other[at] = letter;
      EXPECT_FALSE(is_data_file_name(other)) << other;
      std::string less = name;
      less.erase(at, 1);
      EXPECT_FALSE(is_data_file_name(less)) << less;
      ++tried;
    }
  }
  EXPECT_GT(tried, 1000U);
}

TEST(DataFileNames, OfOthersAreNotRecognised) {
  for (const char* name : {"",
                           ".pt",
                           "a.pt",
                           "model.pt",
                           "my_thesis_model.pt",
                           "layer_00-model_00-model_states.pt",
                           "layer_0001-model_00-model_states.pt",
                           "layer_000-model_0-model_states.pt",
                           "layer_000-model_000-model_states.pt",
                           "layer_-01-model_00-model_states.pt",
                           "mp_rank_0_model_states.pt",
                           "mp_rank_00_optim_states.pt",
                           "mp_rank_000_model_states.pt",
                           "zero_pp_rank__mp_rank_00_model_states.pt",
                           "zero_pp_rank_00_mp_rank_00_model_states.pt",
                           "zero_pp_rank_0_mp_rank_0_optim_states.pt",
                           "bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt",
                           "mp_rank_00_model_states.pt.bak",
                           "mp_rank_00_model_states.pt~",
                           ".mp_rank_00_model_states.pt",
                           "mp_rank_00_model_states",
                           "manifest.json"})
    EXPECT_FALSE(is_data_file_name(name)) << name;
}

}  // namespace
}  // namespace ckptsim::parallelism
