// tests/golden/decisions_test.cpp -- what the compiler decides about the programs of the bench and
// of the samples, for every device that is shipped, against reviewed files.
//
// <program>.graph is what was traced (record.cmake writes it), <program>.decisions beside it what
// is decided: a line per kernel or loop as GNOMON_DUMP=fusion has them, without the numbers of
// values and names of kernels, which change for no reason, and with how many workgroups of which
// size are started; a kernel that an earlier line has as well is told of there. Targets that agree
// share a paragraph. GNOMON_UPDATE_GOLDEN=1 writes the files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "codegen/analysis/uses.h"
#include "codegen/compile/graph_passes.h"
#include "codegen/compile/pipeline.h"
#include "codegen/graph/primitive.h"
#include "codegen/graph/text.h"
#include "codegen/optimize/lower_effects.h"
#include "codegen/partition/loop_region.h"
#include "codegen/partition/predicted_loops.h"
#include "engine/vulkan/quirks.h"
#include "gnomon/error.h"

namespace gnomon {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

// ---- devices

vulkan::DeviceDescription described(std::string name, vulkan::DeviceDescription::Kind kind) {
  vulkan::DeviceDescription d;
  d.name = std::move(name);
  d.kind = kind;
  d.api_minor = 3;
  d.int8 = d.int16 = d.int64 = d.float16 = d.float64 = d.storage8 = d.storage16 = true;
  d.addresses = d.float_controls = true;
  d.float32_controls = d.float64_controls = {.preserve_nan_inf = true, .round_to_even = true};
  d.max_texel_elements = 1u << 27;
  d.max_group_invocations = d.max_group_size_x = 1024;
  d.max_groups = 65535;
  d.subgroup_basic = d.subgroup_arithmetic = d.subgroup_shuffle = true;
  return d;
}

vulkan::DeviceDescription lavapipe(std::string mesa) {
  auto d = described("llvmpipe", vulkan::DeviceDescription::Kind::cpu);
  d.driver = "llvmpipe";
  d.driver_info = std::move(mesa);
  d.max_storage_range = 1u << 27;
  d.max_shared_bytes = 32768;
  d.subgroup_size = 8;
  return d;
}

vulkan::DeviceDescription swiftshader() {
  auto d = described("SwiftShader Device (Subzero)", vulkan::DeviceDescription::Kind::cpu);
  d.int8 = d.int16 = d.int64 = d.float16 = d.float64 = d.storage8 = d.storage16 = false;
  d.float32_controls.round_to_even = false;
  d.max_storage_range = 1u << 30;
  d.max_texel_elements = 65536;
  d.max_group_invocations = d.max_group_size_x = 256;
  d.max_shared_bytes = 32768;
  d.subgroup_size = 4;
  return d;
}

vulkan::DeviceDescription gpu() {
  auto d = described("a GPU", vulkan::DeviceDescription::Kind::discrete);
  d.max_storage_range = 0xffffffff;
  d.max_shared_bytes = 49152;
  d.resident_lanes = 132 * 64 * 32;  // an H100's, an H200's
  d.subgroup_size = 32;
  return d;
}

vulkan::DeviceDescription mobile_gpu() {
  auto d = described("a mobile GPU", vulkan::DeviceDescription::Kind::integrated);
  d.vendor_id = 0x13b5;
  d.int64 = d.float64 = false;
  d.max_storage_range = 1u << 27;
  d.max_texel_elements = 65536;
  d.max_shared_bytes = 32768;
  d.max_group_invocations = d.max_group_size_x = 512;
  d.subgroup_size = 16;
  return d;
}

std::vector<std::pair<std::string, Target>> shipped() {
  return {{"lavapipe-22", target_of(lavapipe("Mesa 22.3.6 (LLVM 15.0.6)"))},
          {"lavapipe-25", target_of(lavapipe("Mesa 25.0.7 (LLVM 15.0.6)"))},
          {"swiftshader", target_of(swiftshader())},
          {"gpu", target_of(gpu())},
          {"mobile-gpu", target_of(mobile_gpu())},
          {"minimum", Target::minimum()}};
}

// ---- text

std::string joined(const std::set<std::string>& parts) {
  std::string s;
  for (const std::string& p : parts) s += (s.empty() ? "" : ", ") + p;
  return s;
}

/// Without the numbers of values: "writes f32[8] reads 2" for "writes %3:f32[8] reads %1 %2".
std::string without_numbers(const std::string& line) {
  std::istringstream words(line.substr(0, line.find("  ; ")));
  std::string s(line.find_first_not_of(' '), ' '), gap;
  bool reads = false;
  int read = 0;
  for (std::string word; words >> word; gap = " ") {
    reads |= word == "reads";
    if (word[0] == '%' && reads) {
      ++read;
      continue;
    }
    const std::size_t colon = word.find(':');
    if (word[0] == '%') word = colon == word.npos ? "value" : word.substr(colon + 1);
    s += gap + word;
  }
  if (reads) s += " " + std::to_string(read);
  if (const std::size_t reason = line.find("  ; "); reason != line.npos) s += line.substr(reason);
  return s;
}

/// The name in `kernel "name"`, which is taken out of the line; "" where there is none.
std::string take_name(std::string& line) {
  const std::size_t at = line.find("kernel \"");
  if (at == line.npos || at > line.find("  ; ")) return "";
  const std::size_t begin = at + 8, end = line.find('"', begin);
  std::string name = line.substr(begin, end - begin);
  line.erase(begin - 1, end + 2 - (begin - 1));
  return name;
}

/// Workgroups and their size, by name of the kernel.
std::map<std::string, std::set<std::string>> dispatches(const Program& p) {
  std::map<std::string, std::set<std::string>> all;
  for (const Step& s : p.steps)
    if (s.kind == Step::Kind::dispatch) {
      const kernel::Kernel& k = p.kernels[s.kernel];
      all[k.name].insert(std::to_string(s.groups) + " x " + std::to_string(k.group_size));
    }
  return all;
}

std::string decisions(const Graph& graph, const Target& target) {
  Program p;
  try {
    p = compile(graph, target, {.name = "p", .refill = Refill::automatic, .keep_text = true});
  } catch (const UsageError& e) {
    std::string why = e.what();
    if (const std::size_t at = why.find(target.device); at != why.npos)
      why.replace(at, target.device.size(), "device");
    return why + "\n";
  }
  std::string s = "kernels " + std::to_string(p.kernels.size()) + ", steps " +
                  std::to_string(p.steps.size()) + ", arena " + std::to_string(p.arena_bytes) +
                  " bytes\n";
  const auto started = dispatches(p);
  std::set<std::string> said;
  std::istringstream lines(p.fusion_text);
  for (std::string line; std::getline(lines, line);) {
    const std::string name = take_name(line);
    said.insert(name);
    s += "  " + without_numbers(line);
    // A condition's kernels are called like those of the body.
    const bool condition = line.find("while ") < line.find("  ; ");
    if (const auto d = started.find(name); d != started.end() && !condition)
      s += "; " + joined(d->second);
    s += "\n";
  }
  // What the plan adds: gates, kernels that play others.
  std::map<std::string, int> others;
  for (const auto& [name, groups] : started)
    if (!said.contains(name)) ++others[joined(groups)];
  for (const auto& [groups, n] : others)
    s += "  the plan adds " + std::to_string(n) + " of " + groups + "\n";
  return s;
}

/// All Targets, those that agree in one paragraph.
std::string decisions(const Graph& graph) {
  std::vector<std::pair<std::string, std::string>> paragraphs;
  for (const auto& [name, target] : shipped()) {
    const std::string text = decisions(graph, target);
    const auto same = std::find_if(paragraphs.begin(), paragraphs.end(),
                                   [&](const auto& p) { return p.second == text; });
    if (same == paragraphs.end())
      paragraphs.emplace_back(name, text);
    else
      same->first += " " + name;
  }
  std::string s;
  for (const auto& [names, text] : paragraphs) s += (s.empty() ? "" : "\n") + names + ": " + text;
  return s;
}

// ---- files

std::string content(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  EXPECT_TRUE(in) << file << " is missing; GNOMON_UPDATE_GOLDEN=1 writes it";
  return {std::istreambuf_iterator<char>(in), {}};
}

Lines lines_of(const std::string& text) {
  std::istringstream in(text);
  Lines lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Lines of only one of the texts, - of the first and + of the second, by a longest common
/// subsequence.
std::string difference(const std::string& want, const std::string& got) {
  const Lines a = lines_of(want), b = lines_of(got);
  std::vector<std::vector<std::size_t>> common(a.size() + 1,
                                               std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = a.size(); i-- > 0;)
    for (std::size_t j = b.size(); j-- > 0;)
      common[i][j] =
          a[i] == b[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
  std::string s;
  for (std::size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      ++i, ++j;
    } else if (j == b.size() || (i < a.size() && common[i + 1][j] >= common[i][j + 1])) {
      s += "- " + a[i++] + "\n";
    } else {
      s += "+ " + b[j++] + "\n";
    }
  }
  return s;
}

/// Files of the kind below this folder, as paths without the extension.
std::vector<std::string> files(const char* extension) {
  std::vector<std::string> all;
  for (const auto& f : fs::recursive_directory_iterator(GNOMON_GOLDEN_DIR))
    if (f.path().extension() == extension)
      all.push_back(fs::path(f.path())
                        .replace_extension()
                        .lexically_relative(GNOMON_GOLDEN_DIR)
                        .generic_string());
  std::sort(all.begin(), all.end());
  return all;
}

class Decisions : public ::testing::TestWithParam<std::string> {};

TEST_P(Decisions, AreAsReviewed) {
  const fs::path program = fs::path(GNOMON_GOLDEN_DIR) / GetParam();
  const fs::path golden = program.string() + ".decisions";
  const std::string got = decisions(parse_graph(content(program.string() + ".graph")));
  if (const char* update = std::getenv("GNOMON_UPDATE_GOLDEN"); update && *update == '1') {
    std::ofstream(golden, std::ios::binary) << got;
    return;
  }
  const std::string lines = difference(content(golden), got);
  EXPECT_TRUE(lines.empty()) << golden << "\n"
                             << lines << "GNOMON_UPDATE_GOLDEN=1 writes it; review the difference";
}

/// Where a loop runs: "kernels", "n lanes", or something else.
std::string place(bool in_kernels, Dim lanes) {
  return in_kernels ? "kernels" : lanes > 0 ? std::to_string(lanes) + " lanes" : "neither";
}

/// Where the loops run of whose results each is one, as the graph was divided.
std::map<ValueId, std::string> places(const Partition& parts) {
  std::map<ValueId, std::string> all;
  for (const Cluster& c : parts.clusters)
    for (ValueId v : c.writes)
      all[v] = place(c.loop && !c.loop->body.decides && c.loop->body.steps == 1,
                     !c.loop && c.draft.mapping == "lane" ? c.draft.kernel.lanes : 0);
  return all;
}

// Passes that prepare loops for where they run do so before the graph is divided.
TEST_P(Decisions, TakeOnePartitionWhichPassesPredict) {
  const fs::path program = fs::path(GNOMON_GOLDEN_DIR) / GetParam();
  const Graph traced = parse_graph(content(program.string() + ".graph"));
  const CompileOptions options{.name = "p", .refill = Refill::automatic};
  for (const auto& [name, target] : shipped()) {
    PassLog log({.record = true});
    Division d;
    try {
      d = run_graph_passes(lower_effects(traced, {options.print_bytes}).graph, target, options,
                           log);
    } catch (const UsageError&) {
      continue;  // of doubles, for devices without: AreAsReviewed has the words
    }
    const std::string line = "pass partition: ";
    const std::string& text = log.text();
    const std::size_t first = text.find(line);
    ASSERT_NE(first, text.npos) << name;
    EXPECT_EQ(text.find(line, first + 1), text.npos) << name;

    const auto actual = places(d.parts);
    PredictedLoops loops(d.graph, target, options);
    for (const Equation& e : d.graph.equations)
      for (ValueId v : e.outputs) {
        const auto at = actual.find(v);
        if (at == actual.end() || !is_loop(e)) continue;
        EXPECT_EQ(place(loops.in_kernels(e), loops.by_lanes(e)), at->second)
            << name << ", %" << v << " of " << e.primitive->name;
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, Decisions, ::testing::ValuesIn(files(".graph")),
                         [](const auto& of) {
                           std::string name = of.param;
                           for (char& c : name)
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           return name;
                         });

// So that what compiles for rows of the table compiles for what is shipped.
TEST(Goldens, AreOfTheTablesRows) {
  const auto differs = [](Target t, KnownTarget row) {
    t.device = target_of(row).device;
    return difference(target_of(row).text(), t.text());
  };
  const auto all = shipped();
  EXPECT_EQ(differs(all[0].second, KnownTarget::lavapipe_22), "");
  EXPECT_EQ(differs(all[1].second, KnownTarget::lavapipe_25), "");
  EXPECT_EQ(differs(all[2].second, KnownTarget::swiftshader), "");
  EXPECT_EQ(all[4].second.kind, KnownTarget::mobile_gpu);
  EXPECT_EQ(differs(all[5].second, KnownTarget::minimum), "");
}

TEST(Goldens, AreAllOfPrograms) { EXPECT_EQ(files(".decisions"), files(".graph")); }

TEST(Goldens, ShowTheLinesThatDiffer) {
  EXPECT_EQ(difference("a\nb\nc\n", "a\nb\nc\n"), "");
  EXPECT_EQ(difference("a\nb\nc\n", "a\nx\nc\nd\n"), "- b\n+ x\n+ d\n");
}

}  // namespace
}  // namespace gnomon
