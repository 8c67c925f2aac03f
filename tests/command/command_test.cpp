// tests/command/command_test.cpp -- the `gnomon` program from the outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "engine/command/npy.h"

namespace gnomon {
namespace {

using testing::HasSubstr;

struct Outcome {
  int status = 0;
  std::string text;  // both streams
};

Outcome gnomon(const std::string& arguments) {
  const std::string command = std::string("\"" GNOMON_COMMAND "\" ") + arguments + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  Outcome outcome;
  char buffer[4096];
  while (const std::size_t n = fread(buffer, 1, sizeof buffer, pipe))
    outcome.text.append(buffer, n);
  outcome.status = WEXITSTATUS(pclose(pipe));
  return outcome;
}

class Command : public testing::Test {
 protected:
  // Tests run side by side, each in a folder of its own.
  Command()
      : folder_(std::filesystem::path(testing::TempDir()) /
                (std::string("gnomon_command_") +
                 testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::create_directories(folder_);
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
  ~Command() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void save(const std::string& name, const Shape& shape, const std::vector<double>& values) {
    HostArray a(Aval{DType::f32, shape});
    for (std::size_t i = 0; i < values.size(); ++i) a.set_number(static_cast<Dim>(i), values[i]);
    write_npy(path(name), a);
  }
  std::string inputs() const { return " --in " + path("x.npy") + " " + path("s.npy"); }

  std::filesystem::path folder_;
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

TEST_F(Command, ProfilesARun) {
  const Outcome run =
      gnomon("run " + path("scale.graph") + inputs() + " --profile --trace " + path("trace.json"));
  ASSERT_EQ(run.status, 0) << run.text;
  EXPECT_THAT(run.text, HasSubstr("count  total us  mean us"));
  EXPECT_THAT(run.text, HasSubstr("`graph` on "));
  std::ifstream in(path("trace.json"));
  const std::string trace((std::istreambuf_iterator<char>(in)), {});
  EXPECT_THAT(trace, HasSubstr("\"ph\":\"X\",\"cat\":\"kernel\""));
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
      {"graph", "sum[axes=(1)]"}, {"fusion", "lanes=2"}, {"kernel", "store"},
      {"spirv", "OpEntryPoint"},  {"memory", "arena"},   {"plan", "dispatch"}};
  for (const char* target : {"device", "minimum", "gpu", "cpu"}) {
    for (const auto& [stage, word] : stages) {
      const Outcome show =
          gnomon("show " + path("scale.graph") + " --stage " + stage + " --target " + target);
      EXPECT_EQ(show.status, 0) << show.text;
      EXPECT_THAT(show.text, HasSubstr(word)) << stage << " for " << target;
    }
  }
}

TEST_F(Command, ListsDevices) {
  const Outcome info = gnomon("info");
  EXPECT_EQ(info.status, 0);
  EXPECT_THAT(info.text, HasSubstr("(used)"));
  EXPECT_THAT(info.text, HasSubstr("storage range"));
  EXPECT_THAT(info.text, HasSubstr("compiled for: target"));
}

TEST_F(Command, NamesLineAndColumnOfABadFile) {
  std::ofstream(path("bad.graph"))
      << "graph(%0: f32[2]) {\n  %1: f32[2] = sine %0\n  return %1\n}\n";
  const Outcome run = gnomon("run " + path("bad.graph"));
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.text, HasSubstr("bad.graph:2:"));
  EXPECT_THAT(run.text, HasSubstr("there is no operation `sine`"));
}

TEST_F(Command, SaysWhichInputDoesNotFit) {
  const Outcome few = gnomon("run " + path("scale.graph") + " --in " + path("x.npy"));
  EXPECT_EQ(few.status, 2);
  EXPECT_THAT(few.text, HasSubstr("takes 2 arrays (f32[2,3] f32[3]) and --in names 1 files"));
  const Outcome wrong =
      gnomon("run " + path("scale.graph") + " --in " + path("s.npy") + " " + path("s.npy"));
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.text, HasSubstr("input 0 of the graph is f32[2,3]"));
  EXPECT_THAT(wrong.text, HasSubstr("holds f32[3]"));
}

TEST_F(Command, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(gnomon("").status, 2);
  EXPECT_EQ(gnomon("run").status, 2);
  EXPECT_EQ(gnomon("run " + path("none.graph")).status, 2);
  EXPECT_EQ(gnomon("show " + path("scale.graph") + " --stage soup").status, 2);
}

}  // namespace
}  // namespace gnomon
