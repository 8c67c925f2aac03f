// engine/jit/save.cpp -- aot::save: functions compiled for several targets, with the modules of
// every arrangement of memory that their callers may have.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>

#include "codegen/graph/effects.h"
#include "codegen/modules/copy_kernel.h"
#include "codegen/modules/module.h"
#include "codegen/optimize/lower_effects.h"
#include "codegen/program/saved.h"
#include "codegen/program/targets.h"
#include "engine/jit/lowering.h"
#include "engine/runtime/parallel.h"
#include "gnomon/aot.h"
#include "gnomon/error.h"
#include "gnomon/paths.h"

namespace gnomon::aot {
namespace {

/// The least that Vulkan 1.1 guarantees, and nothing that any driver is known to do wrong.
Target portable() {
  Target t = Target::minimum();
  t.device = "any device of Vulkan 1.1";
  for (const KnownTarget k : known_targets) {
    const Target known = target_of(k);
    if (known.loop_budget > 0)
      t.loop_budget =
          t.loop_budget > 0 ? std::min(t.loop_budget, known.loop_budget) : known.loop_budget;
  }
  t.refine = {.division = true, .root = true};
  return t;
}

/// A row as far as all such devices go: what a device has beyond 64-bit types and subgroups, and
/// what it promises about floats, differs from one to the next.
Target any_such(Target row) {
  const spirv::Features has = row.features;
  row.features = {};
  row.features.int64 = has.int64;
  row.features.float64 = has.float64;
  row.features.subgroup_basic = has.subgroup_basic;
  row.features.reads_together = has.reads_together;
  row.features.paired_stores = has.paired_stores;
  row.features.as_specified = has.as_specified;
  row.refine = {.division = true, .root = true};
  return row;
}

Target target_named(const std::string& name, const vulkan::Device& device) {
  if (name == "device") return device.target();
  if (name == "gpu") return any_such(Target::gpu());
  if (name == "cpu") return any_such(Target::lavapipe());
  throw UsageError("gnomon::aot::save: there is no target `" + name + "`; use device, gpu or cpu");
}

using Windows = std::vector<std::uint8_t>;

// Where the operands of a dispatch lie: equal numbers for what is surely in one block.
using Roots = std::vector<std::uint32_t>;

std::uint32_t root_of(const Place& place) {
  switch (place.kind) {
    case Place::Kind::arena:
      return 0;
    case Place::Kind::constants:
      return 1;
    case Place::Kind::input:
      return 2 + 2 * place.index;
    case Place::Kind::output:
      return 3 + 2 * place.index;
  }
  return 0;
}

Windows numbered(const std::vector<std::uint32_t>& roots) {
  std::vector<std::uint32_t> seen;
  Windows result;
  for (const std::uint32_t r : roots) {
    auto at = std::find(seen.begin(), seen.end(), r);
    if (at == seen.end()) at = seen.insert(at, r);
    result.push_back(static_cast<std::uint8_t>(at - seen.begin()));
  }
  return result;
}

/// Windows for everything in one block; for every array in its own, which serves all that callers
/// do where four windows are enough; and otherwise for inputs, outputs and the rest apart, which
/// serves when inputs are copied to where the others are.
std::vector<Windows> arrangements(const std::vector<Place>& operands) {
  std::vector<Windows> all{Windows(operands.size(), 0)};
  const auto add = [&](Windows w) {
    const bool few = std::all_of(w.begin(), w.end(), [](auto x) { return x < spirv::max_windows; });
    if (few && std::find(all.begin(), all.end(), w) == all.end()) all.push_back(std::move(w));
    return few;
  };
  std::vector<std::uint32_t> roots, kinds, inputs;
  for (const Place& p : operands) {
    roots.push_back(root_of(p));
    kinds.push_back(static_cast<std::uint32_t>(p.kind));
    inputs.push_back(p.kind == Place::Kind::input ? 2 : root_of(p));
  }
  if (!add(numbered(roots))) {
    add(numbered(inputs));
    add(numbered(kinds));
  }
  return all;
}

std::vector<ProgramModule> modules_of(const Program& program, const Target& target) {
  std::vector<ProgramModule> modules;
  const auto want = [&](std::uint32_t kernel, const std::vector<Windows>& all) {
    for (const Windows& w : all) {
      const bool known = std::any_of(modules.begin(), modules.end(), [&](const ProgramModule& m) {
        return m.kernel == kernel && m.windows == w;
      });
      if (!known) modules.push_back({kernel, w, {}, {}});
    }
  };
  const auto copies = static_cast<std::uint32_t>(program.kernels.size());
  for (const Step& s : program.steps)
    if (s.kind == Step::Kind::dispatch) want(s.kernel, arrangements(s.operands));
  for (const Step& s : program.advances) want(s.kernel, arrangements(s.operands));
  // Of the program, and of an engine that brings inputs together.
  want(copies, {{0, 0}, {0, 1}});
  const kernel::Kernel copy = copy_kernel(target);
  in_parallel(modules.size(), 0, [&](std::size_t i) {
    ProgramModule& m = modules[i];
    m.words = module_words(m.kernel == copies ? copy : program.kernels[m.kernel], target, m.windows,
                           {.window_bytes = target.max_storage_range, .validate = true});
  });
  return modules;
}

SavedVariant variant(const gnomon::detail::LoweredFunction& f, const std::string& name,
                     Target target, const std::string& identity) {
  SavedVariant v;
  v.file.program = compile(f.graph, target, f.options);
  v.file.program.name = name;
  v.file.program.trips.clear();  // nobody measures
  v.file.modules = modules_of(v.file.program, target);
  v.file.identity = identity;
  // Lines of this machine's files.
  for (Allocation& a : v.file.program.allocations) a.where = {};
  v.target = std::move(target);
  return v;
}

SavedEntry saved_entry(const Entry& entry, const SaveOptions& options) {
  const gnomon::detail::LoweredFunction& f = *entry.function.function();
  SavedEntry e;
  e.name = entry.name;
  for (const Leaf& l : f.arguments) e.arguments.push_back({l.path, l.aval});
  for (const Leaf& l : f.results) e.results.push_back({l.path, l.aval});
  e.statics = f.statics;
  Context& context = *f.state->context;
  for (const Array& a : f.captures) {
    const Array here = f.state->placed(a);
    SavedCapture c{here.aval(), std::vector<std::byte>(bytes_of(here.aval()))};
    download(context, here, "aot::save", c.bytes);
    e.captures.push_back(std::move(c));
  }
  if (has_effects(f.graph)) {
    LoweredEffects lowered = lower_effects(f.graph, {f.options.print_bytes});
    e.effects = std::move(lowered.effects);
    const std::vector<Aval> outputs = lowered.graph.output_avals();
    e.records.assign(outputs.end() - static_cast<std::ptrdiff_t>(e.effects.arrays), outputs.end());
  }
  for (const std::string& name : options.targets) {
    const bool own = name == "device";
    e.variants.push_back(variant(f, entry.name, target_named(name, context.device),
                                 own ? context.device.description().identity() : ""));
  }
  Target least = portable();
  if (gnomon::detail::uses_doubles(f)) {
    least.features.float64 = true;
    least.device += " with 64-bit floats";
  }
  e.variants.push_back(variant(f, entry.name, std::move(least), ""));
  return e;
}

}  // namespace

std::vector<std::byte> to_bytes(const std::vector<Entry>& entries, const SaveOptions& options) {
  SavedFile file;
  for (const Entry& e : entries) {
    const auto same = [&](const SavedEntry& other) { return other.name == e.name; };
    if (e.name.empty() || std::any_of(file.entries.begin(), file.entries.end(), same))
      throw UsageError("gnomon::aot::save: two entries are called `" + e.name +
                       "`, or one has no name; give each a name of its own");
    file.entries.push_back(saved_entry(e, options));
  }
  return gnomon::to_bytes(file);
}

std::string save(const std::string& path, const std::vector<Entry>& entries,
                 const SaveOptions& options) {
  const std::vector<std::byte> bytes = to_bytes(entries, options);
  const std::filesystem::path aside = path_of(path + ".part");
  std::ofstream file(aside, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  file.close();
  const bool written = !file.fail();
  std::error_code error;
  if (written) std::filesystem::rename(aside, path_of(path), error);
  if (!written || error) {
    std::filesystem::remove(aside, error);
    throw FileError("gnomon::aot::save: \"" + path + "\" cannot be written (" +
                    std::to_string(bytes.size()) + " bytes); check the folder and the disk");
  }
  return hex(saved_digest(bytes));
}

}  // namespace gnomon::aot
