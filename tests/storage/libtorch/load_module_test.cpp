#include "storage/libtorch/load_module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/storage/torch/archive_helpers.h"

namespace ckptsim::storage::libtorch {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

namespace fs = std::filesystem;

std::string error_of(const std::vector<fs::path>& places) {
  try {
    (void)load_module(places);
  } catch (const ModuleError& error) {
    return error.what();
  }
  return "no error";
}

TEST(ModulePlaces, AreBesideTheProgramAndInTheLibraryFolderOfItsInstallation) {
  const std::vector<fs::path> places = module_places("/opt/ckptsim/bin/ckptsim", "");
  ASSERT_EQ(places.size(), 2U);
  EXPECT_EQ(places[0], "/opt/ckptsim/bin/ckptsim_libtorch.so");
  EXPECT_THAT(places[1].string(),
              AllOf(testing::StartsWith("/opt/ckptsim/lib"), EndsWith("/ckptsim/ckptsim_libtorch.so")));
}

TEST(ModulePlaces, AreTheOneThatTheEnvironmentNames) {
  EXPECT_THAT(module_places("/opt/bin/ckptsim", "/else/module.so"), ElementsAre("/else/module.so"));
}

TEST(LoadModule, SaysWhereItLookedAndWhatToInstall) {
  EXPECT_THAT(
      error_of({"/nowhere/a.so", "/nowhere/b.so"}),
      AllOf(HasSubstr("/nowhere/a.so or /nowhere/b.so"), HasSubstr("libtorch-dev"), HasSubstr("stream")));
}

TEST(LoadModule, RefusesWhatIsNoLibrary) {
  const torch::TemporaryFolder folder;
  torch::write_file(folder.file("module.so"), "not a library");
  EXPECT_THAT(
      error_of({folder.file("module.so")}),
      AllOf(HasSubstr("cannot be loaded: " + folder.file("module.so").string()), HasSubstr("libtorch1.13")));
}

TEST(LoadModule, RefusesAnotherLibrary) {
  EXPECT_THAT(error_of({CKPTSIM_ODD_SYMBOL}), HasSubstr("is not this program's module"));
}

TEST(LoadModule, RefusesTheModuleOfAnotherBuild) {
  EXPECT_THAT(error_of({CKPTSIM_ODD_BUILD}), HasSubstr("another version of this program (interface 0, not"));
}

TEST(LoadModule, RefusesAnotherReleaseOfTorch) {
  EXPECT_THAT(error_of({CKPTSIM_ODD_RELEASE}),
              HasSubstr("holds LibTorch 1.130.0, and the files of 1.13 alone"));
}

}  // namespace
}  // namespace ckptsim::storage::libtorch
