#include "storage/torch/pickle_difference.h"

#include <gtest/gtest.h>

#include "archive_helpers.h"

namespace ckptsim::storage::torch {
namespace {

// What a reader finds of `expected` where the other file was written.
std::string difference(const FileSpec& expected, const FileSpec& written) {
  TemporaryFolder folder;
  const auto path = folder.file(written.name);
  write_file(path, archive_of(written, {}));
  const ArchiveContents contents = read_archive(path);
  return pickle_difference(expected, {contents.tensors, contents.scalars});
}

FileSpec changed(std::size_t entry, const Entry& other) {
  FileSpec file = example_file();
  file.entries[entry] = other;
  return file;
}

TEST(PickleDifference, IsNoneForWhatWasWritten) {
  EXPECT_EQ(difference(example_file(), example_file()), "");
}

TEST(PickleDifference, NamesATensorOfAnotherNameTypeOrShape) {
  const auto written = [](const std::string& key, ScalarType type, std::vector<std::int64_t> shape) {
    return difference(example_file(), changed(0, {key, TensorSpec{type, std::move(shape)}}));
  };
  const std::string saved = " is where 'embedding.weight', a BFloat16Storage of shape [130, 70] was saved";
  EXPECT_EQ(written("embedding.bias", ScalarType::kBFloat16, {130, 70}),
            "'embedding.bias', a BFloat16Storage of shape [130, 70]" + saved);
  EXPECT_EQ(written("embedding.weight", ScalarType::kFloat32, {130, 70}),
            "'embedding.weight', a FloatStorage of shape [130, 70]" + saved);
  EXPECT_EQ(written("embedding.weight", ScalarType::kBFloat16, {70, 130}),
            "'embedding.weight', a BFloat16Storage of shape [70, 130]" + saved);
}

TEST(PickleDifference, NamesAnotherIterationOrText) {
  EXPECT_EQ(difference(example_file(), changed(1, {"iteration", std::int64_t{5}})),
            "'iteration' = 5 is where 'iteration' = 1099511627776 was saved");
  EXPECT_EQ(difference(example_file(), changed(4, {"note", std::string("saved by nobody")})),
            "'note' = saved by nobody is where 'note' = saved by a test was saved");
}

TEST(PickleDifference, NamesWhatIsMissingAndWhatIsTooMuch) {
  FileSpec shorter = example_file();
  shorter.entries.pop_back();
  EXPECT_EQ(difference(example_file(), shorter), "'state.11', a ByteStorage of shape [11001] is missing");
  EXPECT_EQ(difference(shorter, example_file()), "'state.11', a ByteStorage of shape [11001] was not saved");
  FileSpec without_note = example_file();
  without_note.entries.erase(without_note.entries.begin() + 4);
  EXPECT_EQ(difference(without_note, example_file()), "'note' = saved by a test was not saved");
  EXPECT_EQ(difference(example_file(), without_note), "'note' = saved by a test is missing");
}

}  // namespace
}  // namespace ckptsim::storage::torch
