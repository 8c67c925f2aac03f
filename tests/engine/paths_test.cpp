// tests/engine/paths_test.cpp -- names of files in letters that no single code page has.
#include "gnomon/paths.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "engine/runtime/env.h"
#include "gnomon/aot.h"
#include "gnomon/io.h"
#include "gnomon/jit.h"
#include "gnomon/operators.h"
#include "gnomon/ops.h"
#include "gnomon/profile.h"
#include "gnomon/train/checkpoints.h"
#include "tests/engine/fixture.h"
#include "tests/support/temporary_folder.h"

namespace gnomon {
namespace {

const std::string letters = "größe_数_значение";

// What the system itself calls the files of a folder.
bool holds(const std::filesystem::path& folder, std::u8string_view name) {
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().filename().u8string() == name) return true;
  return false;
}

TEST(Paths, AreUtf8BothWays) {
  EXPECT_EQ(text_of(path_of(letters)), letters);
  EXPECT_EQ(path_of(letters), std::filesystem::path(u8"größe_数_значение"));
}

TEST(Paths, OfTheEnvironmentAreUtf8) {
  const testing::Variable cache("GNOMON_CACHE", letters);
  EXPECT_EQ(Environment::read().cache, letters);
}

TEST(Paths, OfFilesAreUtf8) {
  const testing::TemporaryFolder folder;
  const std::string npy = text_of(folder.path) + "/" + letters + ".npy";
  io::FileArray a{{DType::f32, Shape(2)}, std::vector<std::byte>(8, std::byte{1})};
  io::write_npy(npy, a);
  EXPECT_TRUE(holds(folder.path, u8"größe_数_значение.npy"));
  EXPECT_EQ(io::read_npy(npy).bytes, a.bytes);

  operators::Triplets triplets{.rows = 1, .columns = 1, .row = {0}, .column = {0}, .value = {2}};
  const std::string market = text_of(folder.path) + "/" + letters + ".mtx";
  operators::write_matrix_market(market, triplets);
  EXPECT_TRUE(holds(folder.path, u8"größe_数_значение.mtx"));
  EXPECT_EQ(operators::read_matrix_market(market).rows, 1);
}

TEST(Paths, OfProgramsCachesAndDumpsAreUtf8) {
  const testing::TemporaryFolder folder;
  const std::string inner = text_of(folder.path / path_of(letters));
  const testing::Variable dump("GNOMON_DUMP", "plan"), dumps("GNOMON_DUMP_DIR", inner + "/dumps");
  RuntimeOptions options = testing::validated();
  options.cache = inner + "/cache";
  Runtime rt(options);
  const auto files = [&](const char* part) {
    const auto at = folder.path / path_of(letters) / part;
    return std::filesystem::exists(at) ? std::distance(std::filesystem::directory_iterator(at), {})
                                       : 0;
  };
  const auto about_device = files("cache");
  // A name that C++ makes and Windows does not take.
  auto twice = jit(rt, [](const Array& x) { return 2.0f * x; }, {.name = "a::twice<int>"});
  EXPECT_EQ(rt.to_host<float>(twice(rt.from_host({1.0f, 2.0f}))), (std::vector<float>{2, 4}));
  EXPECT_EQ(files("cache"), about_device + 1);
  EXPECT_EQ(files("dumps"), 1);

  const std::string file = inner + "/" + letters + ".gnomon";
  aot::save(file, {{"twice", twice.lower(rt.from_host({1.0f, 2.0f}))}});
  EXPECT_TRUE(holds(folder.path / path_of(letters), u8"größe_数_значение.gnomon"));
  const auto loaded = aot::load<Array(Array)>(rt, file);
  EXPECT_EQ(rt.to_host<float>(loaded(rt.from_host({3.0f, 4.0f}))), (std::vector<float>{6, 8}));

  const std::string trace = inner + "/trace.json";
  const Profile profile = twice.profile(rt.from_host({1.0f, 2.0f}));
  write_chrome_trace(trace, {&profile, 1});
  EXPECT_TRUE(holds(folder.path / path_of(letters), u8"trace.json"));
  EXPECT_TRUE(rt.validation_messages().empty());
}

TEST(Paths, OfCheckpointsAreUtf8) {
  const testing::TemporaryFolder folder;
  Runtime rt(testing::validated());
  const train::Checkpoints files(text_of(folder.path / path_of(letters)));
  files.save(rt, 7, rt.from_host({1.0f, 2.0f}), "run");
  EXPECT_EQ(files.steps(), (std::vector<std::int64_t>{7}));
  EXPECT_TRUE(holds(folder.path, u8"größe_数_значение"));
}

}  // namespace
}  // namespace gnomon
