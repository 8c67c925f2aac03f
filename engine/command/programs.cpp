// engine/command/programs.cpp -- graphs become program files; what is in those, what it computes,
// and how fast.
#include "engine/command/programs.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <set>

#include "codegen/program/saved.h"
#include "engine/command/files.h"
#include "engine/jit/lowering.h"
#include "engine/jit/make_executable.h"
#include "engine/runtime/loaded.h"
#include "gnomon/aot.h"
#include "gnomon/error.h"
#include "gnomon/paths.h"
#include "gnomon/profile.h"

namespace gnomon {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

std::string with_decimals(double milliseconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", milliseconds);
  return text;
}

std::string counted(std::size_t n, const std::string& what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

/// A graph of a file as `Jitted::lower` would give it, of a function of arrays.
Lowered lowered(Runtime& rt, const std::string& path, const std::string& name) {
  auto f = std::make_shared<detail::LoweredFunction>();
  f->state = rt.state();
  f->name = name;
  f->options.name = name;
  f->graph = read_graph(path);
  const std::vector<Aval> inputs = f->graph.input_avals(), outputs = f->graph.output_avals();
  for (std::size_t i = 0; i < inputs.size(); ++i)
    f->arguments.push_back({"argument " + std::to_string(i), inputs[i]});
  for (std::size_t i = 0; i < outputs.size(); ++i)
    f->results.push_back(
        {outputs.size() == 1 ? "result" : "result `[" + std::to_string(i) + "]`", outputs[i]});
  return Lowered(std::move(f));
}

// ---- one function of either kind of file

/// What `run` and `bench` call.
class Callable {
 public:
  Callable(const std::string& file, const std::string& entry, const std::string& digest,
           bool programs)
      : rt_(programs ? Runtime::without_compiler() : Runtime()) {
    const auto start = Clock::now();
    if (programs) {
      programs_.emplace(aot::load(rt_, file, {.digest = digest}));
      if (entry.empty() && programs_->entries().size() != 1) choose();
      info_ = programs_->entries()[programs_->find(entry)];
    } else {
      const Graph g = read_graph(file);
      MakeOptions make;
      make.compile.name = "graph";
      make.executable.validate_modules = rt_.state()->validate;
      make.identity = " waiting";
      executable_ = make_executable(*rt_.state(), g, make);
      for (const Aval& a : g.input_avals())
        info_.arguments.push_back({"input " + std::to_string(info_.arguments.size()), a});
    }
    made_ms = milliseconds_since(start);
  }

  void give(const std::vector<HostArray>& host) {
    for (const HostArray& a : host) arguments_.push_back(rt_.from_bytes(a.aval, a.bytes));
  }
  /// Runs and waits; milliseconds.
  double run() {
    const auto start = Clock::now();
    results_ = programs_ ? programs_->call(info_.name, arguments_) : std::vector<Array>();
    if (executable_) executable_->run(arguments_, results_);
    rt_.wait();
    return milliseconds_since(start);
  }
  /// What each kernel takes, by two more runs.
  Profile profile() {
    return programs_ ? aot::detail::profile(programs_->entry(info_.name), arguments_)
                     : detail::profile(*executable_, arguments_);
  }
  std::vector<HostArray> results() const {
    std::vector<HostArray> all;
    for (const Array& a : results_) {
      all.emplace_back(a.aval());
      rt_.to_bytes(a, all.back().bytes);
    }
    return all;
  }
  std::vector<Aval> wanted() const {
    std::vector<Aval> all;
    for (const aot::Leaf& l : info_.arguments) all.push_back(l.aval);
    return all;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const aot::Leaf& l : info_.arguments) all.push_back(l.path);
    return all;
  }
  std::string whose() const { return programs_ ? "`" + info_.name + "`" : "the graph"; }

  double made_ms = 0;

 private:
  [[noreturn]] void choose() const {
    std::string names;
    for (const aot::EntryInfo& e : programs_->entries())
      names += (names.empty() ? "`" : ", `") + e.name + "`";
    throw UsageError("gnomon: the file has the functions " + names + "; pick one with --entry");
  }

  Runtime rt_;
  std::optional<aot::Programs> programs_;
  std::shared_ptr<Executable> executable_;
  aot::EntryInfo info_;
  std::vector<Array> arguments_, results_;
};

// ---- show

std::string signature(const std::vector<SavedLeaf>& leaves) {
  std::string text;
  for (const SavedLeaf& l : leaves) {
    std::string path = l.path;
    path.resize(std::max<std::size_t>(path.size() + 2, 32), ' ');
    text += "    " + path + to_string(l.aval) + "\n";
  }
  return text;
}

std::string variant_text(const SavedVariant& v, const std::string& here) {
  const Program& p = v.file.program;
  std::size_t words = 0, copies = 0;
  std::set<std::vector<std::uint32_t>> distinct;
  for (const ProgramModule& m : v.file.modules)
    if (distinct.insert(m.words).second) words += m.words.size();
  for (const Step& s : p.steps) copies += s.kind == Step::Kind::copy;
  std::string text = "  target \"" + v.target.device + "\"\n";
  const auto row = [&](std::string name, const std::string& value) {
    name.resize(12, ' ');
    text += "    " + name + value + "\n";
  };
  std::string wants;
  for (const std::string& n : needs(v.target)) wants += (wants.empty() ? "" : ", ") + n;
  row("needs", wants.empty() ? "nothing beyond Vulkan 1.1" : wants);
  row("kernels", std::to_string(p.kernels.size()) + " in " + std::to_string(distinct.size()) +
                     " modules, " + std::to_string(4 * words) + " bytes of SPIR-V " +
                     std::to_string(v.target.features.version >> 16) + "." +
                     std::to_string(v.target.features.version >> 8 & 0xff));
  row("steps", std::to_string(p.steps.size()) + ", of which " + std::to_string(copies) + " copy");
  row("loops", std::to_string(p.loops.size()) + " counted, " + std::to_string(p.gated.size()) +
                   " that the device ends");
  row("arena", std::to_string(p.arena_bytes) + " bytes");
  row("constants", std::to_string(p.constants.size()) + " bytes");
  if (!here.empty()) row("here", here);
  return text;
}

std::string entry_text(const SavedEntry& e, const std::optional<Runtime>& rt) {
  std::string text = "function `" + e.name + "`\n  takes\n" + signature(e.arguments);
  for (const std::string& s : e.statics) text += "    " + s + "\n";
  text += "  gives\n" + signature(e.results);
  std::size_t bytes = 0;
  for (const SavedCapture& c : e.captures) bytes += c.bytes.size();
  if (!e.captures.empty())
    text += "  captured    " + counted(e.captures.size(), "array") + ", " + std::to_string(bytes) +
            " bytes\n";
  if (!e.effects.statements.empty())
    text += "  says        " + counted(e.effects.statements.size(), "statement") + "\n";
  bool chosen = false;
  for (const SavedVariant& v : e.variants) {
    std::string here;
    if (rt) {
      const auto why = aot::detail::unfit_here(v, rt->state()->context->device);
      here = why ? "no: " + *why : chosen ? "would run" : "runs";
      chosen |= !why;
    }
    text += variant_text(v, here);
  }
  return text;
}

std::optional<Runtime> device_if_any() {
  try {
    return Runtime::without_compiler();
  } catch (const DeviceError&) {
    return std::nullopt;  // a file can be looked at where nothing runs it
  }
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

}  // namespace

void compile_files(const CompileFiles& options) {
  Runtime rt;
  std::vector<aot::Entry> entries;
  for (const std::string& path : options.graphs) {
    if (holds_programs(path))
      throw UsageError("gnomon compile: " + path +
                       " is compiled already; give the text of a graph");
    const std::string name = text_of(path_of(path).stem());
    entries.push_back({name, lowered(rt, path, name)});
  }
  aot::SaveOptions save{.targets = {}};
  for (const std::string& t : options.targets)
    if (t != "minimum") save.targets.push_back(t);
  const std::string digest = aot::save(options.out, entries, save);
  for (const aot::Entry& e : entries)
    if (detail::uses_doubles(*e.function.function()))
      std::cout << "`" << e.name << "` computes in f64 and needs 64-bit floats of every device\n";
  std::cout << options.out << " " << std::filesystem::file_size(path_of(options.out))
            << " bytes, digest " << digest << "\n";
  if (options.header.empty()) return;
  std::ofstream header(path_of(options.header), std::ios::binary);
  header << aot::header_text(entries, text_of(path_of(options.out).stem()));
  header.close();
  if (!header)
    throw FileError("gnomon compile: " + options.header +
                    " cannot be written; check the folder and the disk");
  std::cout << options.header << "\n";
}

void write_profile(const Profile& profile, const RunFile& options) {
  if (options.profile) std::cerr << to_string(profile);
  if (!options.trace.empty()) write_chrome_trace(options.trace, {&profile, 1});
}

void run_program(const RunFile& options) {
  if (options.on == "host")
    throw UsageError("gnomon run: " + options.file +
                     " is compiled for devices; --on host runs the text of a graph");
  Callable f(options.file, options.entry, options.digest, true);
  const Inputs inputs = read_inputs(options.inputs);
  check_inputs(inputs, f.wanted(), f.names(), f.whose());
  f.give(inputs.arrays);
  for (int i = 0; i < options.repeat; ++i) {
    const double took = f.run();
    if (options.repeat > 1) std::fprintf(stderr, "run %d: %.3f ms\n", i + 1, took);
  }
  if (options.profile || !options.trace.empty()) write_profile(f.profile(), options);
  write_outputs(options.out, f.results());
}

std::string program_text(const std::string& path) {
  const std::vector<std::byte> bytes = aot::detail::read_file(path);
  const SavedFile file = aot::detail::examined(bytes, "\"" + path + "\"");
  std::string text = path + ": " + std::to_string(bytes.size()) + " bytes, " +
                     counted(file.entries.size(), "function") + ", form " +
                     std::to_string(saved_version) + "\ndigest " + hex(saved_digest(bytes)) + "\n";
  const std::optional<Runtime> rt = device_if_any();
  for (const SavedEntry& e : file.entries) text += entry_text(e, rt);
  return text;
}

std::string bench_text(const BenchFile& options) {
  constexpr int warm_ups = 3;
  const bool programs = holds_programs(options.file);
  Callable f(options.file, options.entry, "", programs);
  Inputs inputs = read_inputs(options.inputs);
  if (options.inputs.empty()) {
    for (const Aval& a : f.wanted()) {
      HostArray ones(a);
      for (Dim i = 0; i < a.shape.size(); ++i) ones.set_number(i, 1);
      inputs.arrays.push_back(std::move(ones));
      inputs.names.emplace_back("ones");
    }
  }
  check_inputs(inputs, f.wanted(), f.names(), f.whose());
  f.give(inputs.arrays);
  const double first = f.run();
  for (int i = 1; i < warm_ups; ++i) f.run();
  std::vector<double> times;
  for (int i = 0; i < options.runs; ++i) times.push_back(f.run());
  return std::string(programs ? "load       " : "compile    ") + with_decimals(f.made_ms) +
         " ms\nfirst run  " + with_decimals(first) + " ms\nmedian     " +
         with_decimals(median(times)) + " ms of " + counted(times.size(), "run") + " (least " +
         with_decimals(*std::ranges::min_element(times)) + ")\n";
}

}  // namespace gnomon
