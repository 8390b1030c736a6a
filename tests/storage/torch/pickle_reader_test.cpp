#include "storage/torch/pickle_reader.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "archive_helpers.h"
#include "pickle_text.h"
#include "storage/errors.h"
#include "storage/torch/pickle_writer.h"

namespace ckptsim::storage::torch {
namespace {

using namespace std::string_literals;

// A dict with the tensor "t" made of these parts and an integer "n".
std::string tensor_pickle(const std::string& storage, const std::string& offset, const std::string& sizes,
                          const std::string& strides) {
  return pickle("}(" + unicode("t") + tensor_of(storage, offset, sizes, strides) + unicode("n") + "K\x05u");
}

void expect_refused(const std::string& bytes) {
  EXPECT_THROW((void)read_pickle(bytes), FormatError) << testing::PrintToString(bytes);
}

TEST(PickleReader, ReadsWhatTheWriterWrites) {
  const FileSpec file = example_file();
  const PickleContents contents = read_pickle(write_pickle(file));
  std::size_t tensors = 0;
  std::size_t scalars = 0;
  for (const Entry& entry : file.entries) {
    if (const auto* tensor = std::get_if<TensorSpec>(&entry.value)) {
      const ArchiveTensor& read = contents.tensors.at(tensors);
      EXPECT_EQ(read.name, entry.key);
      EXPECT_EQ(read.shape, tensor->shape);
      EXPECT_EQ(read.storage_class, storage_class(tensor->type));
      EXPECT_EQ(read.storage_key, std::to_string(tensors));
      EXPECT_EQ(read.storage_elements, element_count(*tensor));
      EXPECT_EQ(read.storage_offset, 0U);
      ++tensors;
    } else {
      EXPECT_EQ(contents.scalars.at(scalars).first, entry.key);
      ++scalars;
    }
  }
  EXPECT_EQ(contents.tensors.size(), tensors);
  EXPECT_EQ(contents.scalars.size(), scalars);
}

TEST(PickleReader, ReadsIntegersOfEveryWidth) {
  FileSpec file{"x.pt", {}};
  for (int bits = 0; bits < 63; ++bits) {
    for (const std::int64_t value : {(std::int64_t{1} << bits) - 1, -(std::int64_t{1} << bits)}) {
      file.entries.push_back({std::to_string(value), value});
    }
  }
  file.entries.push_back({"min", std::numeric_limits<std::int64_t>::min()});
  file.entries.push_back({"max", std::numeric_limits<std::int64_t>::max()});
  const PickleContents contents = read_pickle(write_pickle(file));
  ASSERT_EQ(contents.scalars.size(), file.entries.size());
  for (std::size_t i = 0; i < file.entries.size(); ++i) {
    EXPECT_EQ(std::get<std::int64_t>(contents.scalars[i].second),
              std::get<std::int64_t>(file.entries[i].value));
  }
}

TEST(PickleReader, ReadsThousandsOfEntries) {
  FileSpec file{"x.pt", {}};
  for (int i = 0; i < 2001; ++i) {
    file.entries.push_back({"tensor" + std::to_string(i), TensorSpec{ScalarType::kUInt8, {i}}});
  }
  const PickleContents contents = read_pickle(write_pickle(file));
  ASSERT_EQ(contents.tensors.size(), 2001U);
  EXPECT_EQ(contents.tensors.back().name, "tensor2000");
  EXPECT_EQ(contents.tensors.back().storage_key, "2000");
}

TEST(PickleReader, JoinsTheKeysOfNestedDicts) {
  const PickleContents contents =
      read_pickle(pickle("}(" + unicode("model") + "ccollections\nOrderedDict\n)R" + unicode("layer") + "}" +
                         unicode("weight") + "K\x07ss" + "K\x03\x88u"));
  ASSERT_EQ(contents.scalars.size(), 2U);
  EXPECT_EQ(contents.scalars[0].first, "model.layer.weight");
  EXPECT_EQ(std::get<std::int64_t>(contents.scalars[0].second), 7);
  EXPECT_EQ(contents.scalars[1].first, "3");
  EXPECT_EQ(std::get<std::int64_t>(contents.scalars[1].second), 1);
}

TEST(PickleReader, AcceptsOnlyTensorsWithinTheirStorage) {
  EXPECT_EQ(read_pickle(tensor_pickle(storage_of("K\x07"), "K\x01", "K\x02K\x03\x86", "K\x03K\x01\x86"))
                .tensors.size(),
            1U);
  expect_refused(tensor_pickle(storage_of("K\x06"), "K\x01", "K\x02K\x03\x86", "K\x03K\x01\x86"));
  expect_refused(tensor_pickle(storage_of("K\x06"), "K\x07", "K\x00\x85"s, "K\x01\x85"));
  expect_refused(tensor_pickle(storage_of("K\x00"s), "K\x00"s, ")", ")"));
  expect_refused(tensor_pickle(storage_of("K\x06"), "J\xff\xff\xff\xff", "K\x02\x85", "K\x01\x85"));
  expect_refused(tensor_pickle(storage_of("K\x06"), "K\x00"s, "J\xff\xff\xff\xff\x85", "K\x01\x85"));
  expect_refused(tensor_pickle(storage_of("K\x06"), "K\x00"s, "K\x02\x85", "K\x02K\x01\x86"));
  expect_refused(tensor_pickle(storage_of("J\xff\xff\xff\xff"), "K\x00"s, "K\x02\x85", "K\x01\x85"));
  const std::string most = "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"s;
  expect_refused(tensor_pickle(storage_of("K\x06"), "K\x00"s, most + most + "\x86", most + most + "\x86"));
}

TEST(PickleReader, ReadsAnEmptyTensor) {
  EXPECT_EQ(read_pickle(tensor_pickle(storage_of("K\x00"s), "K\x00"s, "K\x00K\x03\x86"s, "K\x03K\x01\x86"))
                .tensors.size(),
            1U);
}

TEST(PickleReader, KnowsNoOtherNames) {
  expect_refused(pickle("cos\nsystem\n" + unicode("true") + "\x85R"));
  expect_refused(tensor_pickle(storage_of("K\x06", "NoStorage"), "K\x00"s, "K\x02\x85", "K\x01\x85"));
  expect_refused(pickle("ctorch\nFloatStorage\n)R"));
  expect_refused(pickle("ccollections\nOrderedDict\n" + unicode("x") + "\x85R"));
}

TEST(PickleReader, KnowsNoOtherOpcodes) {
  for (int opcode = 0; opcode < 256; ++opcode) {
    const char byte = static_cast<char>(opcode);
    if ("}().stuXJKMcRQqrhj\x8a\x88\x89\x85\x86\x87"s.find(byte) == std::string::npos) {
      expect_refused(pickle("}q\x01"s + byte));
    }
  }
}

TEST(PickleReader, RefusesOtherProtocolsAndRoots) {
  expect_refused("");
  expect_refused("\x80\x04}.");
  expect_refused(pickle(""));
  expect_refused(pickle("K\x01"));
  expect_refused(pickle(")"));
  expect_refused(pickle("}(" + unicode("pair") + "K\x01K\x02\x86" + unicode("n") + "K\x01u"));
  expect_refused(pickle("}" + unicode("key") + "s"));
  expect_refused(pickle("}(" + unicode("key") + "u"));
  expect_refused(pickle("}u"));
  expect_refused(pickle("}(\x88K\x01u"));
  expect_refused(pickle("}(" + unicode("n") + "\x8a\x09" + std::string(9, '\x01') + "u"));
}

TEST(PickleReader, RefusesEveryTruncation) {
  const std::string whole = write_pickle(example_file());
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_THROW((void)read_pickle(std::string_view(whole).substr(0, bytes)), FormatError) << bytes;
  }
}

TEST(PickleReader, RefusesADictWithinItself) {
  expect_refused(pickle("}q\x00("s + unicode("a") + "h\x00u"s));
}

TEST(PickleReader, RefusesDictsNestedWithoutEnd) {
  std::string body = "}";
  std::string end;
  for (int i = 0; i < 100000; ++i) {
    body += unicode("k") + "}";
    end += "s";
  }
  expect_refused(pickle(body + end));
}

TEST(PickleReader, RefusesNamesThatGrowFarBeyondThePickle) {
  // One long key around many short ones: each leaf's name repeats it.
  const std::string key = "X" + "\xa0\x86\x01\x00"s + std::string(100000, 'k');
  std::string inner = "}(";
  for (int i = 0; i < 1000; ++i) {
    inner += unicode(std::to_string(i)) + "K\x01";
  }
  expect_refused(pickle("}" + key + inner + "u" + "s"));
}

}  // namespace
}  // namespace ckptsim::storage::torch
