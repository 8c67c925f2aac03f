// tests/engine/env_test.cpp -- environment variables: read in one file, documented in one table.
#include "engine/runtime/env.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "gnomon/error.h"

namespace gnomon {
namespace {

using ::testing::HasSubstr;

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::set<std::string> matches(const std::string& text, const std::regex& pattern) {
  std::set<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it)
    found.insert((*it)[1]);
  return found;
}

std::set<std::string> documented() {
  std::set<std::string> names;
  for (const Variable& v : variables()) names.insert(std::string(v.name));
  return names;
}

const std::filesystem::path root =
    std::filesystem::path(GNOMON_TEST_DIR).parent_path().parent_path();

TEST(Environment, DocumentsExactlyWhatItReads) {
  const std::string source = read_file(root / "engine/runtime/env.cpp");
  ASSERT_FALSE(source.empty());
  EXPECT_EQ(matches(source, std::regex("value\\(\"(GNOMON_[A-Z_]+)\"\\)")), documented());
}

TEST(Environment, IsReadInOneFileOnly) {
  for (const char* floor : {"shaders", "codegen", "engine", "samples"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / floor)) {
      const auto extension = entry.path().extension();
      if (extension != ".cpp" && extension != ".h") continue;
      if (entry.path().filename() == "env.cpp") continue;
      EXPECT_THAT(read_file(entry.path()), ::testing::Not(HasSubstr("getenv"))) << entry.path();
    }
  }
}

TEST(Environment, PrintsOneLinePerVariable) {
  for (const std::string& name : documented()) EXPECT_THAT(help_text(), HasSubstr(name + " "));
}

TEST(Environment, IsAllDefaultsWhenNothingIsSet) {
  const Environment e = Environment::read([](const char*) -> const char* { return nullptr; });
  EXPECT_TRUE(e.device.empty());
  EXPECT_FALSE(e.validate || e.minimum || e.help || e.check_buffers || e.check_nan || e.jit_off);
  EXPECT_EQ(e.dump | e.log, 0u);
}

TEST(Environment, ReadsListsSwitchesAndNames) {
  const Environment e = Environment::read([](const char* name) -> const char* {
    if (std::strcmp(name, "GNOMON_DUMP") == 0) return "graph,plan";
    if (std::strcmp(name, "GNOMON_LOG") == 0) return "timing";
    if (std::strcmp(name, "GNOMON_CHECK") == 0) return "nan,buffers";
    if (std::strcmp(name, "GNOMON_JIT") == 0) return "off";
    if (std::strcmp(name, "GNOMON_VALIDATE") == 0) return "1";
    if (std::strcmp(name, "GNOMON_TARGET") == 0) return "minimum";
    if (std::strcmp(name, "GNOMON_DEVICE") == 0) return "llvm";
    if (std::strcmp(name, "GNOMON_CACHE") == 0) return "/some/folder";
    return nullptr;
  });
  EXPECT_TRUE(e.dumps(Stage::graph) && e.dumps(Stage::plan));
  EXPECT_FALSE(e.dumps(Stage::kernel));
  EXPECT_TRUE(e.logs(Topic::timing));
  EXPECT_FALSE(e.logs(Topic::cache));
  EXPECT_TRUE(e.validate && e.minimum && e.check_buffers && e.check_nan && e.jit_off);
  EXPECT_EQ(e.device, "llvm");
  EXPECT_EQ(e.cache, "/some/folder");
}

#if !defined(_WIN32) && !defined(__APPLE__)
TEST(Environment, KnowsThePlatformsFolderForCaches) {
  using Lookup = const char* (*)(const char*);
  const auto folder = [](Lookup lookup) { return Environment::read(lookup).user_cache; };
  EXPECT_EQ(folder([](const char*) -> const char* { return nullptr; }), "");
  EXPECT_EQ(folder([](const char* name) -> const char* {
              return std::strcmp(name, "HOME") == 0 ? "/home/ada" : nullptr;
            }),
            "/home/ada/.cache");
  EXPECT_EQ(folder([](const char* name) -> const char* {
              return std::strcmp(name, "HOME") == 0             ? "/home/ada"
                     : std::strcmp(name, "XDG_CACHE_HOME") == 0 ? "relative"
                                                                : nullptr;
            }),
            "/home/ada/.cache");
  EXPECT_EQ(folder([](const char* name) -> const char* {
              return std::strcmp(name, "XDG_CACHE_HOME") == 0 ? "/cache" : nullptr;
            }),
            "/cache");
}
#endif

TEST(Environment, RefusesWhatNoVariableTakes) {
  const auto message = [](const char* (*lookup)(const char*)) -> std::string {
    try {
      Environment::read(lookup);
    } catch (const UsageError& e) {
      return e.what();
    }
    return "no UsageError";
  };
  EXPECT_THAT(message([](const char* name) -> const char* {
                return std::strcmp(name, "GNOMON_DUMP") == 0 ? "graph,karnel" : nullptr;
              }),
              HasSubstr("GNOMON_DUMP does not take `karnel`; use "
                        "traced,passes,graph,fusion,kernel,spirv,memory,plan"));
  EXPECT_THAT(message([](const char* name) -> const char* {
                return std::strcmp(name, "GNOMON_VALIDATE") == 0 ? "yes" : nullptr;
              }),
              HasSubstr("GNOMON_VALIDATE does not take `yes`"));
}

}  // namespace
}  // namespace gnomon
