// engine/command/main.cpp -- the `gnomon` program: compiles, runs, shows and times graphs in text
// form and program files, lists devices.
#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <iostream>

#include "codegen/compile/pipeline.h"
#include "codegen/graph/evaluate.h"
#include "codegen/modules/module.h"
#include "codegen/optimize/lower_effects.h"
#include "codegen/program/targets.h"
#include "engine/command/devices.h"
#include "engine/command/files.h"
#include "engine/command/programs.h"
#include "engine/jit/make_executable.h"
#include "engine/runtime/state.h"
#include "gnomon/debug.h"
#include "gnomon/paths.h"
#include "gnomon/profile.h"
#include "gnomon/runtime.h"

namespace gnomon {
namespace {

std::vector<HostArray> run_on_device(const Graph& g, const std::vector<HostArray>& host,
                                     const RunFile& options) {
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
  if (options.profile || !options.trace.empty())
    write_profile(detail::profile(*executable, inputs), options);
  std::vector<HostArray> results;
  for (const Array& a : outputs) {
    results.emplace_back(a.aval());
    rt.to_bytes(a, results.back().bytes);
  }
  return results;
}

void run_graph(const RunFile& options) {
  const Graph g = read_graph(options.file);
  if (!options.entry.empty() || !options.digest.empty())
    throw UsageError("gnomon run: " + options.file +
                     " is the text of a graph, which has neither entries nor a digest; leave "
                     "--entry and --digest out");
  const Inputs inputs = read_inputs(options.inputs);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < g.inputs.size(); ++i) names.push_back("input " + std::to_string(i));
  check_inputs(inputs, g.input_avals(), names, "the graph");
  const LoweredEffects lowered = lower_effects(g);
  std::vector<HostArray> outputs = options.on == "host" ? evaluate(lowered.graph, inputs.arrays)
                                                        : run_on_device(g, inputs.arrays, options);
  const Report report =
      lowered.effects.read(std::span<const HostArray>(outputs).subspan(g.outputs.size()));
  outputs.resize(g.outputs.size());
  for (const std::string& line : report.lines) std::cout << line << "\n";
  if (report.failure) throw CheckFailed(*report.failure);
  write_outputs(options.out, outputs);
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

/// "device", "cpu", a row of the table of kinds, or what `gnomon info` prints of a device.
Target wanted_target(const std::string& text) {
  if (text == "device") return Runtime().target();
  if (text == "cpu") return Target::lavapipe();
  if (text.starts_with("target ")) return Target::parse(text);
  std::string names = "device, cpu";
  for (const KnownTarget k : known_targets) {
    if (text == name(k)) return target_of(k);
    names += ", " + std::string(name(k));
  }
  throw UsageError("gnomon show: there is no target `" + text + "`; use " + names +
                   ", or what `gnomon info` prints of a device");
}

void show_graph(const ShowOptions& options) {
  const Graph g = read_graph(options.file);
  const Target target = wanted_target(options.target);
  struct Kept {
    const std::string& stage;
    std::string text;
  } kept{options.stage, {}};
  CompileOptions compile_options{.name = "graph"};
  compile_options.dump_user = &kept;
  compile_options.passes.record = options.stage == "passes";
  compile_options.candidates = options.stage == "fusion";
  compile_options.dump = [](void* user, const std::string& stage, const std::string& text) {
    Kept& k = *static_cast<Kept*>(user);
    if (stage == k.stage) k.text += text;
  };
  const Program program = compile(g, target, compile_options);
  std::cout << (options.stage == "spirv" ? spirv_text(program, target) : kept.text);
}

const CLI::App& add_compile(CLI::App& app, CompileFiles& options) {
  CLI::App* command = app.add_subcommand(
      "compile", "Compile graphs into one file, for this device and any of Vulkan 1.1");
  command->add_option("files", options.graphs, "Graphs' texts; each becomes a function")
      ->required();
  command->add_option("--out", options.out, "The file")->required();
  command
      ->add_option("--target", options.targets,
                   "What to compile for beside the least device of Vulkan 1.1, the preferred first")
      ->check(CLI::IsMember({"device", "gpu", "cpu", "minimum"}))
      ->capture_default_str();
  command->add_option("--header", options.header,
                      "Write a C++ header with the functions' types as well");
  return *command;
}

const CLI::App& add_run(CLI::App& app, RunFile& options) {
  CLI::App* command = app.add_subcommand("run", "Run a graph, or a function of a program file");
  command->add_option("file", options.file, "A graph's text, or a program file")->required();
  command->add_option("--in", options.inputs, "Inputs in order, .npy and .npz files");
  command->add_option("--out", options.out,
                      "Write outputs to PREFIX0.npy, PREFIX1.npy, ..., or to one file that ends "
                      "in .npz, instead of printing them");
  command->add_option("--entry", options.entry, "Which function of a program file");
  command->add_option("--digest", options.digest, "Refuse a program file that has another");
  command->add_option("--on", options.on, "device, or host: literal and slow, the reference")
      ->check(CLI::IsMember({"device", "host"}))
      ->capture_default_str();
  command->add_option("--repeat", options.repeat, "Run so often and print the times")
      ->check(CLI::PositiveNumber);
  command->add_flag("--profile", options.profile,
                    "Run twice more and print what each kernel takes, on the error output");
  command->add_option("--trace", options.trace,
                      "Write the same to FILE, for chrome://tracing and ui.perfetto.dev");
  return *command;
}

const CLI::App& add_show(CLI::App& app, ShowOptions& options) {
  CLI::App* command = app.add_subcommand(
      "show", "Print what the compiler makes of a graph, or what a program file holds");
  command->add_option("file", options.file, "A graph's text, or a program file")->required();
  command->add_option("--stage", options.stage, "What to print")
      ->check(CLI::IsMember({"passes", "graph", "fusion", "kernel", "spirv", "memory", "plan"}))
      ->capture_default_str();
  command
      ->add_option("--target", options.target,
                   "What to compile for: device, minimum, gpu, cpu, another kind that is known, or "
                   "what `gnomon info` prints of a device: 'target \"...\" ...'")
      ->capture_default_str();
  return *command;
}

const CLI::App& add_bench(CLI::App& app, BenchFile& options) {
  CLI::App* command = app.add_subcommand(
      "bench",
      "Time a graph or a function of a program file: making it, its first run, the others");
  command->add_option("file", options.file, "A graph's text, or a program file")->required();
  command->add_option("--in", options.inputs, "Inputs in order; ones otherwise");
  command->add_option("--entry", options.entry, "Which function of a program file");
  command->add_option("--runs", options.runs, "Runs of which the median is given")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  return *command;
}

int main(int argc, char** argv) {
  CLI::App app("Compiles, runs and shows array programs, and lists the devices they can run on");
  app.require_subcommand(1);
  app.set_version_flag("--version", GNOMON_VERSION);
  CompileFiles compile_options;
  RunFile run_options;
  ShowOptions show_options;
  BenchFile bench_options;
  const CLI::App& compile_command = add_compile(app, compile_options);
  const CLI::App& run_command = add_run(app, run_options);
  const CLI::App& show_command = add_show(app, show_options);
  const CLI::App& bench_command = add_bench(app, bench_options);
  const CLI::App& info_command =
      *app.add_subcommand("info", "List devices, their limits, and why one was passed over");

  try {
    app.parse(argc, argv);
  } catch (const CLI::RequiredError& e) {
    // CLI11 says of a word that is no command only that it wants one.
    if (argc < 2 || argv[1][0] == '-' || !app.get_subcommands().empty())
      return app.exit(e) == 0 ? 0 : 2;
    std::string names;
    for (const CLI::App* command : app.get_subcommands(nullptr))
      names += (names.empty() ? "" : ", ") + command->get_name();
    std::cerr << "gnomon: there is no command `" << argv[1] << "`; use one of " << names
              << ", and --help for what they do\n";
    return 2;
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  try {
    if (compile_command.parsed()) compile_files(compile_options);
    if (run_command.parsed())
      holds_programs(run_options.file) ? run_program(run_options) : run_graph(run_options);
    if (show_command.parsed()) {
      if (holds_programs(show_options.file))
        std::cout << program_text(show_options.file);
      else
        show_graph(show_options);
    }
    if (bench_command.parsed()) std::cout << bench_text(bench_options);
    if (info_command.parsed()) std::cout << devices_text();
  } catch (const Error& e) {
    std::cerr << e.what() << "\n";
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace gnomon

#ifdef _WIN32
// Words in UTF-8, as names of files are in all of Gnomon: main gets those of a code page.
extern "C" int wmain(int argc, wchar_t** argv) {
  std::vector<std::string> words;
  for (int i = 0; i < argc; ++i) words.push_back(gnomon::text_of(argv[i]));
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  return gnomon::main(argc, pointers.data());
}
#else
int main(int argc, char** argv) { return gnomon::main(argc, argv); }
#endif
