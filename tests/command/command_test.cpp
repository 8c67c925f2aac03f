// tests/command/command_test.cpp -- the `gnomon` program from the outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "codegen/program/targets.h"
#include "engine/command/npy.h"
#include "gnomon/paths.h"
#include "shaders/spirv/tools.h"
#include "tests/command/command.h"
#include "tests/support/platform.h"
#include "tests/support/temporary_folder.h"

namespace gnomon {
namespace {

using ::testing::HasSubstr;

class Command : public ::testing::Test {
 protected:
  Command() {
    std::ofstream(path("scale.graph")) << R"(; rows of %0 scaled by %1, summed
graph(%0: f32[2,3], %1: f32[3]) {
  %2: f32[2,3] = broadcast[shape=[2,3] axes=(1)] %1
  %3: f32[2,3] = mul %0 %2
  %4: f32[2] = sum[axes=(1)] %3
  return %4
}
)";
    save("x.npy", {2, 3}, {1, 2, 3, 4, 5, 6});
    save("s.npy", {3}, {1, 10, 100});
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void save(const std::string& name, const Shape& shape, const std::vector<double>& values) {
    HostArray a(Aval{DType::f32, shape});
    for (std::size_t i = 0; i < values.size(); ++i) a.set_number(static_cast<Dim>(i), values[i]);
    write_npy(path(name), a);
  }
  std::string inputs() const { return " --in " + path("x.npy") + " " + path("s.npy"); }

  const testing::TemporaryFolder folder_;
};

TEST_F(Command, RunsAGraphOnDeviceAndHost) {
  for (const char* on : {"device", "host"}) {
    const Outcome run =
        gnomon("run " + path("scale.graph") + inputs() + " --out " + path("y") + " --on " + on);
    ASSERT_EQ(run.status, 0) << run.text;
    EXPECT_THAT(run.text, HasSubstr("y0.npy f32[2]"));
    const HostArray y = read_npy(path("y0.npy"));
    EXPECT_EQ(y.number(0), 321);
    EXPECT_EQ(y.number(1), 654);
  }
}

TEST_F(Command, NamesAWordThatIsNone) {
  const Outcome run = gnomon("frobnicate");
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.text, HasSubstr("gnomon: there is no command `frobnicate`; use one of compile, "
                                  "run, show, bench, info"));
}

TEST_F(Command, ProfilesARun) {
  ASSERT_EQ(gnomon("compile " + path("scale.graph") + " --out " + path("scale.gnomon")).status, 0);
  for (const auto& [file, name] : {std::pair{"scale.graph", "graph"}, {"scale.gnomon", "scale"}}) {
    const Outcome run =
        gnomon("run " + path(file) + inputs() + " --profile --trace " + path("trace.json"));
    ASSERT_EQ(run.status, 0) << run.text;
    EXPECT_THAT(run.text, HasSubstr("count  total us  mean us"));
    EXPECT_THAT(run.text, HasSubstr(std::string("`") + name + "` on "));
    std::ifstream in(path("trace.json"));
    const std::string trace((std::istreambuf_iterator<char>(in)), {});
    EXPECT_THAT(trace, HasSubstr("\"ph\":\"X\",\"cat\":\"kernel\""));
    in.close();  // Windows removes no file that is open
    std::filesystem::remove(path("trace.json"));
  }
}

TEST_F(Command, PrintsResultsThatAreNotSaved) {
  const Outcome run = gnomon("run " + path("scale.graph") + inputs());
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.text, HasSubstr("f32[2]\n[321. 654.]"));
}

TEST_F(Command, DoesWhatStatementsOfAGraphSay) {
  std::ofstream(path("say.graph")) << R"(
graph(%0: f32[2,3], %1: f32[3]) {
  print[text="rows {}, {{s}} {}" lanes=() inside=()] %0 %1
  %2: bool[3] = gt %1 %1
  error_if[text="impossible" lanes=() inside=()] %2
  %3: bool[3] = eq %1 %1
  error_if[text="too sure" lanes=() inside=()] %3
  return %1
}
)";
  for (const char* on : {"device", "host"}) {
    const Outcome run = gnomon("run " + path("say.graph") + inputs() + " --on " + on);
    EXPECT_NE(run.status, 0);
    EXPECT_THAT(run.text, HasSubstr("rows [[1. 2. 3.]\n [4. 5. 6.]], {s} [  1.  10. 100.]\n"));
    EXPECT_THAT(run.text, HasSubstr("error_if: too sure; true 3 times, first at index 0"));
  }
}

TEST_F(Command, ShowsEveryStage) {
  const std::pair<const char*, const char*> stages[] = {
      {"passes", "pass fit: graph"},
      {"graph", "sum[axes=(1)]"},
      {"fusion", "lanes=2"},
      {"kernel", "store"},
      {"spirv", spirv::has_tools() ? "OpEntryPoint" : "no SPIRV-Tools"},
      {"memory", "arena"},
      {"plan", "dispatch"}};
  for (const char* target : {"device", "minimum", "gpu", "cpu"}) {
    for (const auto& [stage, word] : stages) {
      const Outcome show =
          gnomon("show " + path("scale.graph") + " --stage " + stage + " --target " + target);
      EXPECT_EQ(show.status, 0) << show.text;
      EXPECT_THAT(show.text, HasSubstr(word)) << stage << " for " << target;
    }
  }
}

TEST_F(Command, ShowsWhatIsMadeForADeviceThatIsNotHere) {
  const auto kernel = [&](const std::string& target) {
    return gnomon("show " + path("scale.graph") + " --stage kernel --target " + target);
  };
  const Outcome known = kernel("swiftshader");
  EXPECT_EQ(known.status, 0) << known.text;
#ifndef _WIN32  // whose shell quotes otherwise
  EXPECT_EQ(kernel("'" + target_of(KnownTarget::swiftshader).text() + "'").text, known.text);
#endif
  EXPECT_NE(kernel("gpu").text, known.text);
  const Outcome unknown = kernel("tpu");
  EXPECT_NE(unknown.status, 0);
  EXPECT_THAT(unknown.text, HasSubstr("there is no target `tpu`; use device, cpu, minimum,"));
}

TEST_F(Command, TakesNamesOfFilesInUtf8) {
  std::filesystem::copy_file(path("scale.graph"), folder_.path / path_of("größe_数.graph"));
  const Outcome show = gnomon("show " + text_of(folder_.path) + "/größe_数.graph --stage graph");
  EXPECT_EQ(show.status, 0) << show.text;
  EXPECT_THAT(show.text, HasSubstr("sum[axes=(1)]"));
  EXPECT_THAT(gnomon("show größe_数.graph").text, HasSubstr("größe_数.graph cannot be read"));
}

TEST_F(Command, ListsDevices) {
  const Outcome info = gnomon("info");
  EXPECT_EQ(info.status, 0);
  EXPECT_THAT(info.text, HasSubstr("(used)"));
  EXPECT_THAT(info.text, HasSubstr("storage range"));
  EXPECT_THAT(info.text, HasSubstr("compiled for: target"));
  EXPECT_THAT(gnomon("info", "GNOMON_TARGET=minimum").text,
              HasSubstr("compiled for: target \"minimum\""));
}

TEST_F(Command, NamesLineAndColumnOfABadFile) {
  std::ofstream(path("bad.graph"))
      << "graph(%0: f32[2]) {\n  %1: f32[2] = sine %0\n  return %1\n}\n";
  const Outcome run = gnomon("run " + path("bad.graph"));
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.text, HasSubstr("bad.graph:2:"));
  EXPECT_THAT(run.text, HasSubstr("there is no operation `sine`"));
}

TEST_F(Command, SaysThatAFileIsNeitherAGraphNorAProgram) {
  const std::string out = " --out " + path("q");
  for (const std::string command : {"run ", "show ", "bench ", "compile "}) {
    const auto of = [&](const std::string& name) {
      const Outcome o = gnomon(command + path(name) + (command == "compile " ? out : ""));
      EXPECT_EQ(o.status, 2) << command << name;
      return o.text;
    };
    EXPECT_THAT(of(""), HasSubstr("is a folder; give the text of a graph, or a program file"));
    EXPECT_THAT(of("x.npy"),
                HasSubstr("x.npy is neither the text of a graph nor a program file; give one"));
  }
}

TEST_F(Command, SaysWhichInputDoesNotFit) {
  const Outcome few = gnomon("run " + path("scale.graph") + " --in " + path("x.npy"));
  EXPECT_EQ(few.status, 2);
  EXPECT_THAT(few.text, HasSubstr("takes 2 arrays (f32[2,3] f32[3]) and --in gives 1;"));
  const Outcome wrong =
      gnomon("run " + path("scale.graph") + " --in " + path("s.npy") + " " + path("s.npy"));
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.text, HasSubstr("input 0 of the graph is f32[2,3]"));
  EXPECT_THAT(wrong.text, HasSubstr("holds f32[3]"));
}

// ---- program files

TEST_F(Command, CompilesGraphsIntoAFileThatRunsWithoutThem) {
  std::ofstream(path("twice.graph"))
      << "graph(%0: f32[3]) {\n  %1: f32[3] = add %0 %0\n  return %1 %0\n}\n";
  const Outcome compile = gnomon("compile " + path("scale.graph") + " " + path("twice.graph") +
                                 " --out " + path("both.gnomon") + " --target cpu");
  ASSERT_EQ(compile.status, 0) << compile.text;
  EXPECT_THAT(compile.text, HasSubstr("both.gnomon "));
  const std::size_t at = compile.text.find("digest ");
  ASSERT_NE(at, std::string::npos);
  const std::string digest = compile.text.substr(at + 7, 64);

  const Outcome run = gnomon("run " + path("both.gnomon") + " --entry scale" + inputs() +
                             " --out " + path("y") + " --digest " + digest);
  ASSERT_EQ(run.status, 0) << run.text;
  const HostArray y = read_npy(path("y0.npy"));
  EXPECT_EQ(y.number(0), 321);
  EXPECT_EQ(y.number(1), 654);

  const Outcome archive = gnomon("run " + path("both.gnomon") + " --entry twice --in " +
                                 path("s.npy") + " --out " + path("z.npz"));
  ASSERT_EQ(archive.status, 0) << archive.text;
  EXPECT_THAT(archive.text, HasSubstr("z.npz: 0 f32[3]"));
  // What it wrote is what it reads: one archive with both arrays in order.
  const Outcome other = gnomon("run " + path("twice.graph") + " --in " + path("z.npz"));
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.text, HasSubstr("takes 1 arrays (f32[3]) and --in gives 2"));

  const Outcome elsewhere = gnomon("run " + path("both.gnomon") + " --entry twice --in " +
                                   path("s.npy") + " --digest " + std::string(64, '0'));
  EXPECT_EQ(elsewhere.status, 2);
  EXPECT_THAT(elsewhere.text, HasSubstr("has the digest " + digest));
}

TEST_F(Command, ShowsWhatAProgramFileHolds) {
  ASSERT_EQ(gnomon("compile " + path("scale.graph") + " --out " + path("p")).status, 0);
  const Outcome show = gnomon("show " + path("p"));
  ASSERT_EQ(show.status, 0) << show.text;
  for (const char* words :
       {"1 function,", "digest ", "function `scale`", "argument 0", "f32[2,3]", "result",
        "target \"any device of Vulkan 1.1\"", "nothing beyond Vulkan 1.1", "bytes of SPIR-V 1.3",
        "arena ", "here        runs", "here        would run"})
    EXPECT_THAT(show.text, HasSubstr(words));
}

TEST_F(Command, SaysThatDoublesAreMoreThanTheLeast) {
  std::ofstream(path("wide.graph"))
      << "graph(%0: f64[3]) {\n  %1: f64[3] = add %0 %0\n  return %1\n}\n";
  const Outcome compile =
      gnomon("compile " + path("wide.graph") + " --out " + path("p") + " --target minimum");
  ASSERT_EQ(compile.status, 0) << compile.text;
  EXPECT_THAT(compile.text, HasSubstr("`wide` computes in f64 and needs 64-bit floats"));
  const Outcome show = gnomon("show " + path("p"));
  EXPECT_THAT(show.text, HasSubstr("any device of Vulkan 1.1 with 64-bit floats"));
  EXPECT_THAT(show.text, HasSubstr("needs       64-bit floats\n"));
}

TEST_F(Command, TimesGraphsAndPrograms) {
  ASSERT_EQ(gnomon("compile " + path("scale.graph") + " --out " + path("p")).status, 0);
  const Outcome program = gnomon("bench " + path("p") + inputs() + " --runs 3");
  EXPECT_EQ(program.status, 0) << program.text;
  for (const char* words : {"load ", "first run ", "median ", "of 3 runs"})
    EXPECT_THAT(program.text, HasSubstr(words));
  const Outcome graph = gnomon("bench " + path("scale.graph") + " --runs 2");
  EXPECT_EQ(graph.status, 0) << graph.text;
  EXPECT_THAT(graph.text, HasSubstr("compile "));
}

TEST_F(Command, WritesAHeaderWithTheTypes) {
  ASSERT_EQ(gnomon("compile " + path("scale.graph") + " --out " + path("p.gnomon") + " --header " +
                   path("p.h"))
                .status,
            0);
  std::ifstream in(path("p.h"));
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_THAT(text, HasSubstr("namespace p {"));
  EXPECT_THAT(text,
              HasSubstr("gnomon::Array operator()(gnomon::Array a0, gnomon::Array a1) const"));
}

TEST_F(Command, SaysWhatIsWrongWithAProgramFile) {
  ASSERT_EQ(gnomon("compile " + path("scale.graph") + " --out " + path("p")).status, 0);
  const auto said = [&](const std::string& arguments) {
    const Outcome o = gnomon(arguments);
    EXPECT_EQ(o.status, 2) << o.text;
    return o.text;
  };
  EXPECT_THAT(said("run " + path("p") + " --entry none" + inputs()),
              HasSubstr("there is no entry `none`; the file has `scale`"));
  EXPECT_THAT(said("run " + path("p") + " --in " + path("s.npy") + " " + path("s.npy")),
              HasSubstr("argument 0 of `scale` is f32[2,3]"));
  EXPECT_THAT(said("run " + path("p") + inputs() + " --on host"),
              HasSubstr("is compiled for devices"));
  EXPECT_THAT(said("compile " + path("p") + " --out " + path("q")),
              HasSubstr("is compiled already"));
  EXPECT_THAT(said("run " + path("scale.graph") + inputs() + " --entry f"),
              HasSubstr("leave --entry and --digest out"));
  EXPECT_THAT(said("compile " + path("scale.graph") + " --out " + path("no/such/q")),
              HasSubstr("cannot be written"));
  std::filesystem::resize_file(path("p"), std::filesystem::file_size(path("p")) - 1);
  for (const char* command : {"run ", "show ", "bench "})
    EXPECT_THAT(said(command + path("p")), HasSubstr("is damaged: it has "));
}

TEST_F(Command, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(gnomon("").status, 2);
  EXPECT_EQ(gnomon("run").status, 2);
  EXPECT_EQ(gnomon("run " + path("none.graph")).status, 2);
  EXPECT_EQ(gnomon("show " + path("scale.graph") + " --stage soup").status, 2);
}

}  // namespace
}  // namespace gnomon
