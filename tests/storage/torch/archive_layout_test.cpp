#include "storage/torch/archive_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "archive_helpers.h"

namespace ckptsim::storage::torch {
namespace {

using testing::ElementsAre;

std::vector<std::string> record_names(const ArchiveLayout& layout) {
  std::vector<std::string> names;
  for (const RecordLayout& record : layout.records) {
    names.push_back(record.name);
  }
  return names;
}

FileSpec file_of_tensors(int tensors) {
  FileSpec file{"model.tar.pt", {{"iteration", std::int64_t{1}}}};
  for (int i = 0; i < tensors; ++i) {
    file.entries.push_back({"tensor" + std::to_string(i), TensorSpec{ScalarType::kUInt8, {i}}});
  }
  return file;
}

TEST(ArchiveLayout, SortsRecordsAsStringsInDialect113) {
  const ArchiveLayout layout = lay_out_archive(file_of_tensors(12), {Dialect::kTorch113, 64});
  EXPECT_THAT(record_names(layout),
              ElementsAre("data.pkl", "data/0", "data/1", "data/10", "data/11", "data/2", "data/3", "data/4",
                          "data/5", "data/6", "data/7", "data/8", "data/9", "version"));
}

TEST(ArchiveLayout, KeepsRecordsInOrderOfFirstUseInTheCurrentDialect) {
  const ArchiveLayout layout = lay_out_archive(file_of_tensors(12), {Dialect::kCurrent, 64});
  EXPECT_THAT(record_names(layout),
              ElementsAre("data.pkl", ".format_version", ".storage_alignment", "byteorder", "data/0",
                          "data/1", "data/2", "data/3", "data/4", "data/5", "data/6", "data/7", "data/8",
                          "data/9", "data/10", "data/11", "version", ".data/serialization_id"));
}

TEST(ArchiveLayout, AlignsEveryPayload) {
  for (const Dialect dialect : {Dialect::kTorch113, Dialect::kCurrent}) {
    for (const std::uint64_t alignment : {64U, 4096U, 32768U}) {
      for (const RecordLayout& record : lay_out_archive(example_file(), {dialect, alignment}).records) {
        EXPECT_EQ(record.payload_offset % alignment, 0U) << record.name;
      }
    }
  }
}

TEST(ArchiveLayout, NamesTheRootWithoutTheLastExtension) {
  EXPECT_EQ(lay_out_archive(file_of_tensors(1), {}).root, "model.tar");
  EXPECT_EQ(lay_out_archive(file_of_tensors(1), {}).records.front().entry.name, "model.tar/data.pkl");
}

TEST(ArchiveLayout, RefusesNamesThatAreNoFileNames) {
  for (const char* name : {"", ".pt", "folder/x.pt", "folder\\x.pt"}) {
    FileSpec file = file_of_tensors(1);
    file.name = name;
    EXPECT_THROW((void)lay_out_archive(file, {}), std::invalid_argument) << name;
  }
}

TEST(ArchiveLayout, RefusesAlignmentsThatPaddingCannotReach) {
  for (const std::uint64_t alignment : {0U, 1U, 32U, 96U, 65536U}) {
    EXPECT_THROW((void)lay_out_archive(file_of_tensors(1), {Dialect::kCurrent, alignment}),
                 std::invalid_argument)
        << alignment;
  }
}

}  // namespace
}  // namespace ckptsim::storage::torch
