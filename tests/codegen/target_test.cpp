// tests/codegen/target_test.cpp -- Targets as text, and the table of kinds.
#include "codegen/program/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "codegen/base/text_reader.h"
#include "codegen/program/targets.h"

namespace gnomon {
namespace {

using ::testing::HasSubstr;

// Fields of each struct and type; who adds one does nothing for it.
TEST(Targets, SayEveryFieldInTheirText) {
  const std::function<void(Target&)> changes[] = {
      [](Target& t) { t.device = "another"; },
      [](Target& t) { t.features.version = 0x00010600; },
      [](Target& t) { t.features.denorm_preserve_f64 = true; },
      [](Target& t) { t.max_texel_elements += std::uint64_t{1} << 40; },
      [](Target& t) { t.players = 8; },
      [](Target& t) { t.player_rows = 64; },
      [](Target& t) { t.subgroup_size = 64; },
      [](Target& t) { t.refine.root = true; },
      [](Target& t) { t.built_in_functions = true; }};
  std::set<std::string> texts = {Target().text()};
  for (const auto& change : changes) {
    Target t;
    change(t);
    EXPECT_FALSE(t == Target()) << t.text();
    EXPECT_EQ(Target::parse(t.text()), t);
    texts.insert(t.text());
  }
  EXPECT_EQ(texts.size(), std::size(changes) + 1);
}

TEST(Targets, ComeBackFromText) {
  for (const KnownTarget k : known_targets)
    EXPECT_EQ(Target::parse(target_of(k).text()), target_of(k));
  Target t;
  t.device = "a \"name\" with = and ;";
  EXPECT_EQ(Target::parse(t.text()), t);
  EXPECT_EQ(Target::parse("target \"x\" team=64 features.int64=1").team, 64u);
  EXPECT_TRUE(Target::parse("target \"x\" team=64 features.int64=1").features.int64);
}

TEST(Targets, RefuseTextThatIsNone) {
  const auto complaint = [](const char* text) -> std::string {
    try {
      Target::parse(text);
    } catch (const ParseError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(complaint("target \"x\" teams=64"), HasSubstr("a target has no field `teams`"));
  EXPECT_THAT(complaint("target \"x\" features.team=64"), HasSubstr("no field `features.team`"));
  EXPECT_THAT(complaint("target \"x\" team=4294967296"), HasSubstr("`team` is at most 4294967295"));
  EXPECT_THAT(complaint("target \"x\" texel_reads=2"), HasSubstr("`texel_reads` is at most 1"));
  EXPECT_THAT(complaint("device \"x\""), HasSubstr("expected `target`"));
}

TEST(Targets, OfTheTableDifferAndHaveNames) {
  std::set<std::string> texts, names;
  for (const KnownTarget k : known_targets) {
    texts.insert(target_of(k).text());
    names.emplace(name(k));
  }
  EXPECT_EQ(texts.size(), std::size(known_targets));
  EXPECT_EQ(names.size(), std::size(known_targets));
  EXPECT_FALSE(names.contains(""));
}

}  // namespace
}  // namespace gnomon
