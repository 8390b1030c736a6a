// torch's own C++ reader finds every record. LibTorch's headers stay in this file.
#include <caffe2/serialize/inline_container.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "archive_helpers.h"
#include "storage/torch/archive_reader.h"

namespace ckptsim::storage::torch {
namespace {

class LibTorchReader : public testing::TestWithParam<ArchiveOptions> {};

TEST_P(LibTorchReader, FindsEveryRecordWhereItIs) {
  ArchiveStream stream(example_file(), GetParam(), kSeed, kPass, kCheckpoint);
  const std::string bytes = read_all(stream);
  const TemporaryFolder folder;
  const auto path = folder.file(example_file().name);
  write_file(path, bytes);

  caffe2::serialize::PyTorchStreamReader reader(path.string());
  EXPECT_EQ(reader.getAllRecords().size(), stream.digest().records.size());
  for (const RecordDigest& record : stream.digest().records) {
    ASSERT_TRUE(reader.hasRecord(record.name)) << record.name;
    EXPECT_EQ(reader.getRecordOffset(record.name), record.payload_offset) << record.name;
    const auto [data, size] = reader.getRecord(record.name);
    ASSERT_EQ(size, record.bytes) << record.name;
    if (size > 0) {
      EXPECT_EQ(std::memcmp(data.get(), bytes.data() + record.payload_offset, size), 0) << record.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Archive, LibTorchReader,
                         testing::Values(ArchiveOptions{Dialect::kTorch113, 64},
                                         ArchiveOptions{Dialect::kTorch113, 4096},
                                         ArchiveOptions{Dialect::kCurrent, 64},
                                         ArchiveOptions{Dialect::kCurrent, 4096}));

TEST(LibTorchWriter, WritesAnArchiveThatIsReadHere) {
  const TemporaryFolder folder;
  const auto path = folder.file("written.pt");
  const FileSpec file{"written.pt", {{"t", TensorSpec{ScalarType::kUInt8, {1000}}}, {"n", std::int64_t{1}}}};
  ArchiveStream stream(file, {}, kSeed, kPass, kCheckpoint);
  const std::string bytes = read_all(stream);
  {
    caffe2::serialize::PyTorchStreamWriter writer(path.string());
    for (const RecordDigest& record : stream.digest().records) {
      if (record.name.starts_with("data")) {
        writer.writeRecord(record.name, bytes.data() + record.payload_offset, record.bytes);
      }
    }
    writer.writeEndOfFile();
  }
  const ArchiveContents contents = read_archive(path);
  EXPECT_EQ(contents.root, "written");
  ASSERT_EQ(contents.tensors.size(), 1U);
  EXPECT_EQ(contents.tensors[0].shape, std::vector<std::int64_t>{1000});
  for (const ArchiveRecord& record : contents.records) {
    EXPECT_EQ(payload_crc32(path, record), record.crc32) << record.name;
  }
}

}  // namespace
}  // namespace ckptsim::storage::torch
