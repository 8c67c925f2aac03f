// engine/command/main.cpp -- the `gnomon` program: runs and shows graphs in text form, lists
// devices.
#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

#include "codegen/graph/array_text.h"
#include "codegen/graph/evaluate.h"
#include "codegen/graph/text.h"
#include "codegen/graph/verify.h"
#include "codegen/lower/pipeline.h"
#include "codegen/lower/record.h"
#include "codegen/modules/module.h"
#include "engine/command/devices.h"
#include "engine/command/npy.h"
#include "engine/jit/make_executable.h"
#include "engine/runtime/state.h"
#include "gnomon/debug.h"
#include "gnomon/profile.h"
#include "gnomon/runtime.h"

namespace gnomon {
namespace {

/// Canonical, as after a trace: a graph in a file may define more than its outputs need.
Graph read_graph(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw FileError("gnomon: " + path + " cannot be read");
  try {
    Graph g = canonicalize(parse_graph(text.str()));
    verify(g, "read_graph");
    return g;
  } catch (const ParseError& e) {
    throw FileError(path + ":" + std::to_string(e.line) + ":" + std::to_string(e.column) + ": " +
                    e.what());
  }
}

std::vector<HostArray> read_inputs(const Graph& g, const std::vector<std::string>& paths) {
  const std::vector<Aval> wanted = g.input_avals();
  std::string list;
  for (const Aval& a : wanted) list += " " + to_string(a);
  if (paths.size() != wanted.size())
    throw UsageError("gnomon run: the graph takes " + std::to_string(wanted.size()) + " arrays (" +
                     (list.empty() ? "" : list.substr(1)) + ") and --in names " +
                     std::to_string(paths.size()) + " files");
  std::vector<HostArray> inputs;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    inputs.push_back(read_npy(paths[i]));
    if (inputs[i].aval != wanted[i])
      throw UsageError("gnomon run: input " + std::to_string(i) + " of the graph is " +
                       to_string(wanted[i]) + ", and " + paths[i] + " holds " +
                       to_string(inputs[i].aval));
  }
  return inputs;
}

struct RunOptions {
  std::string file, prefix, on = "device";
  std::vector<std::string> inputs;
  int repeat = 1;
  bool profile = false;
  std::string trace;
};

std::vector<HostArray> run_on_device(const Graph& g, const std::vector<HostArray>& host,
                                     const RunOptions& options) {
  Runtime rt;
  MakeOptions make;
  make.compile.name = "graph";
  make.executable.validate_modules = rt.state()->validate;
  make.identity = " waiting";
  const std::shared_ptr<Executable> executable = make_executable(*rt.state(), g, make);
  std::vector<Array> inputs, outputs;
  for (const HostArray& a : host) inputs.push_back(rt.from_bytes(a.aval, a.bytes));
  for (int i = 0; i < options.repeat; ++i) {
    const auto start = std::chrono::steady_clock::now();
    executable->run(inputs, outputs);
    rt.wait();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    if (options.repeat > 1) std::fprintf(stderr, "run %d: %.3f ms\n", i + 1, took.count());
  }
  if (options.profile || !options.trace.empty()) {
    const Profile profile = detail::profile(*executable, inputs);
    if (options.profile) std::cerr << to_string(profile);
    if (!options.trace.empty()) write_chrome_trace(options.trace, {&profile, 1});
  }
  std::vector<HostArray> results;
  for (const Array& a : outputs) {
    results.emplace_back(a.aval());
    rt.to_bytes(a, results.back().bytes);
  }
  return results;
}

void run(const RunOptions& options) {
  const Graph g = read_graph(options.file);
  const std::vector<HostArray> inputs = read_inputs(g, options.inputs);
  const Recorded recorded = record(g);
  std::vector<HostArray> outputs =
      options.on == "host" ? evaluate(recorded.graph, inputs) : run_on_device(g, inputs, options);
  const Report report =
      recorded.journal.read(std::span<const HostArray>(outputs).subspan(g.outputs.size()));
  outputs.resize(g.outputs.size());
  for (const std::string& line : report.lines) std::cout << line << "\n";
  if (report.failure) throw CheckFailed(*report.failure);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (options.prefix.empty()) {
      std::cout << to_string(outputs[i].aval) << "\n" << to_string(outputs[i]) << "\n";
    } else {
      const std::string path = options.prefix + std::to_string(i) + ".npy";
      write_npy(path, outputs[i]);
      std::cout << path << " " << to_string(outputs[i].aval) << "\n";
    }
  }
}

std::string spirv_text(const Program& program, const Target& target) {
  std::string text;
  for (const kernel::Kernel& k : program.kernels) {
    const std::vector<std::uint8_t> windows(k.buffers.size(), 0);
    text += "; kernel " + k.name + "\n" +
            module_text(module_words(k, target, windows, {.debug_info = true, .validate = true}));
  }
  return text;
}

struct ShowOptions {
  std::string file, stage = "graph", target = "device";
};

void show(const ShowOptions& options) {
  const Graph g = read_graph(options.file);
  const Target target = options.target == "minimum" ? Target::minimum()
                        : options.target == "gpu"   ? Target::gpu_like()
                        : options.target == "cpu"   ? Target::cpu_like()
                                                    : Runtime().target();
  struct Kept {
    const std::string& stage;
    std::string text;
  } kept{options.stage, {}};
  CompileOptions compile_options{.name = "graph"};
  compile_options.dump_user = &kept;
  compile_options.dump = [](void* user, const std::string& stage, const std::string& text) {
    Kept& k = *static_cast<Kept*>(user);
    if (stage == k.stage) k.text += text;
  };
  const Program program = compile(g, target, compile_options);
  std::cout << (options.stage == "spirv" ? spirv_text(program, target) : kept.text);
}

int main(int argc, char** argv) {
  CLI::App app("Runs and shows array programs in text form, and lists the devices they can run on");
  app.require_subcommand(1);
  app.set_version_flag("--version", GNOMON_VERSION);

  RunOptions run_options;
  CLI::App* run_command = app.add_subcommand("run", "Run a graph");
  run_command->add_option("file", run_options.file, "A graph's text")->required();
  run_command->add_option("--in", run_options.inputs, "Inputs in order, .npy files");
  run_command->add_option(
      "--out", run_options.prefix,
      "Write outputs to PREFIX0.npy, PREFIX1.npy, ... instead of printing them");
  run_command
      ->add_option("--on", run_options.on, "device, or host: literal and slow, the reference")
      ->check(CLI::IsMember({"device", "host"}))
      ->capture_default_str();
  run_command->add_option("--repeat", run_options.repeat, "Run so often and print the times")
      ->check(CLI::PositiveNumber);
  run_command->add_flag("--profile", run_options.profile,
                        "Run twice more and print what each kernel takes, on the error output");
  run_command->add_option("--trace", run_options.trace,
                          "Write the same to FILE, for chrome://tracing and ui.perfetto.dev");

  ShowOptions show_options;
  CLI::App* show_command = app.add_subcommand("show", "Print what the compiler makes of a graph");
  show_command->add_option("file", show_options.file, "A graph's text")->required();
  show_command->add_option("--stage", show_options.stage, "What to print")
      ->check(CLI::IsMember({"graph", "fusion", "kernel", "spirv", "memory", "plan"}))
      ->capture_default_str();
  show_command->add_option("--target", show_options.target, "What to compile for")
      ->check(CLI::IsMember({"device", "minimum", "gpu", "cpu"}))
      ->capture_default_str();

  CLI::App* info_command =
      app.add_subcommand("info", "List devices, their limits, and why one was passed over");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  try {
    if (run_command->parsed()) run(run_options);
    if (show_command->parsed()) show(show_options);
    if (info_command->parsed()) std::cout << devices_text();
  } catch (const Error& e) {
    std::cerr << e.what() << "\n";
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace gnomon

int main(int argc, char** argv) { return gnomon::main(argc, argv); }
