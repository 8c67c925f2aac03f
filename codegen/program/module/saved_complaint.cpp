// codegen/program/module/saved_complaint.cpp -- whether what a file says of a function and its
// programs makes sense together, for what runs it without another look.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "codegen/program/copies.h"
#include "codegen/program/grid.h"
#include "codegen/program/module/words.h"
#include "codegen/program/print_format.h"
#include "codegen/program/saved.h"
#include "codegen/program/want.h"
#include "gnomon/error.h"

namespace gnomon {
namespace {

std::uint64_t bytes_of(const Aval& a) {
  return static_cast<std::uint64_t>(a.shape.size()) * size_of(a.dtype);
}

std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t most = std::uint64_t{1} << 62;
  return a != 0 && b > most / a ? most : a * b;
}

// ---- statements

void check(const Statement& s, const std::vector<Aval>& records) {
  const bool print = s.kind == Statement::Kind::print;
  // Where EffectTable::read looks: counts in front, then values, then steps.
  want(print || !s.values.empty(), "a check of nothing");
  const std::uint64_t wanted = (print ? 1 + s.values.size() : 2) + std::uint64_t{s.loops};
  want(s.count == wanted && s.first <= records.size() && s.count <= records.size() - s.first,
       "a statement has no such records");
  std::uint64_t lanes = 1;
  for (const Dim d : s.lanes) {
    want(d > 0, "a statement has no such lanes");
    lanes = product(lanes, static_cast<std::uint64_t>(d));
  }
  want(s.rows >= 0, "a statement has no such rows");
  const std::uint64_t kept =
      product(lanes, print && s.rows > 0 ? static_cast<std::uint64_t>(s.rows) + 1 : 1);
  for (std::size_t i = 0; i < s.count; ++i) {
    const Aval& record = records[s.first + i];
    const bool value = print && i >= 1 && i <= s.values.size();
    const bool head = i == 0 || (!print && i == 1);
    const Aval one = value ? s.values[i - 1] : Aval{DType::i32, {}};
    want(record.dtype == one.dtype &&
             bytes_of(record) >= product(bytes_of(one), head ? lanes : kept),
         "a statement has records of another type");
  }
  for (const TimePart& t : s.time) {
    const std::uint64_t known = t.kind == TimePart::Kind::step   ? s.loops
                                : t.kind == TimePart::Kind::lane ? s.lanes.size()
                                                                 : ~std::uint64_t{0};
    want(t.kind <= TimePart::Kind::lane &&
             (t.kind == TimePart::Kind::position ||
              (t.value >= 0 && static_cast<std::uint64_t>(t.value) < known)),
         "a statement has no such place in time");
  }
  if (!print) return;
  try {
    const effects::Format format = effects::parse_format(s.text, s.loc);
    want(format.specs.size() == s.values.size(), "a statement prints other values than it has");
    for (std::size_t i = 0; i < s.values.size(); ++i)
      effects::element_format(format.specs[i], s.values[i].dtype, s.loc);
  } catch (const UsageError& e) {
    throw Complaint{std::string("a statement has a text that is none: ") + e.what()};
  }
}

// ---- the plan of one program

/// What is in the arena when, and where steps may reach.
class Plan {
 public:
  Plan(const Program& program, const Target& target) : p_(program), target_(target) {}

  void all() {
    // Each of these is looked at for each of those somewhere.
    constexpr std::uint64_t most_work = std::uint64_t{1} << 30;
    std::uint64_t operands = 0;
    for (const Step& s : p_.steps) operands += 1 + s.operands.size();
    want(product(operands, p_.allocations.size() + p_.loops.size()) <= most_work &&
             product(p_.inputs.size(), p_.outputs.size()) <= most_work,
         "a plan is too large to be examined");
    arena();
    for (std::uint32_t i = 0; i < p_.steps.size(); ++i) step(p_.steps[i], i);
    for (const LoopBlock& l : p_.loops) {
      if (!l.advance) continue;
      const Step& advance = p_.advances[*l.advance];
      step(advance, l.end - 1);
      want(!advance.counts && advance.iterations.empty(),
           "a loop's counter is advanced by what depends on it");
    }
    for (const GatedBlock& g : p_.gated) gated(g);
    written_out();
  }

 private:
  /// Nobody needs more than what lies in it, and what lives at the same time lies apart.
  void arena() {
    std::uint64_t end = 0;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> events;  // step, allocation
    for (std::uint32_t i = 0; i < p_.allocations.size(); ++i) {
      end = std::max(end, p_.allocations[i].offset + p_.allocations[i].bytes);
      events.emplace_back(p_.allocations[i].first_step, i);
    }
    want(p_.arena_bytes <= end + 4096, "the arena has " + std::to_string(p_.arena_bytes) +
                                           " bytes, of which " + std::to_string(end) + " are used");
    std::ranges::sort(events);
    std::map<std::uint64_t, std::uint32_t> alive;       // by offset
    std::multimap<std::uint32_t, std::uint64_t> until;  // last step -> offset
    for (const auto& [first, i] : events) {
      for (auto dead = until.begin(); dead != until.end() && dead->first < first;
           dead = until.erase(dead))
        alive.erase(dead->second);
      const Allocation& a = p_.allocations[i];
      const auto next = alive.lower_bound(a.offset);
      want(next == alive.end() || a.offset + std::max<std::uint64_t>(a.bytes, 1) <= next->first,
           "allocations overlap");
      if (next != alive.begin()) {
        const Allocation& before = p_.allocations[std::prev(next)->second];
        want(before.offset + before.bytes <= a.offset, "allocations overlap");
      }
      alive.emplace(a.offset, i);
      until.emplace(a.last_step, a.offset);
    }
  }

  /// Bytes from a place in the arena to the end of its allocation.
  std::optional<std::uint64_t> room(const Place& place, std::uint32_t first,
                                    std::uint32_t last) const {
    for (const Allocation& a : p_.allocations)
      if (a.first_step <= last && first <= a.last_step && a.offset <= place.offset &&
          place.offset - a.offset < std::max<std::uint64_t>(a.bytes, 1))
        return a.offset + a.bytes - place.offset;
    return std::nullopt;
  }

  std::uint64_t room(const Place& place, std::uint32_t step, const std::string& what) const {
    switch (place.kind) {
      case Place::Kind::input:
        return bytes_of(p_.inputs[place.index]) - place.offset;
      case Place::Kind::output:
        return bytes_of(p_.outputs[place.index]) - place.offset;
      case Place::Kind::constants:
        return p_.constants.size() - place.offset;
      case Place::Kind::arena:
        break;
    }
    const auto bytes = room(place, step, step);
    want(bytes.has_value(), what + " uses memory that nothing lives in");
    return *bytes;
  }

  void step(const Step& s, std::uint32_t index) const {
    const std::string what = "step `" + s.label + "`";
    std::uint64_t reach = 1;
    for (std::size_t i = 0; i < s.operands.size(); ++i) {
      const std::uint64_t bytes = room(s.operands[i], index, what);
      reach = std::min(reach + bytes, std::uint64_t{1} << 62);
      if (s.kind == Step::Kind::copy) want(s.bytes <= bytes, what + " copies what is not there");
      const bool writes = s.kind == Step::Kind::copy
                              ? i == 1
                              : p_.kernels[s.kernel].buffers[i].access != kernel::Access::read;
      want(!writes || s.operands[i].kind == Place::Kind::arena ||
               s.operands[i].kind == Place::Kind::output,
           what + " writes what is only read");
    }
    if (s.kind == Step::Kind::copy) return;
    // A workgroup has an element of something to itself.
    want(s.groups <= reach, what + " has more workgroups than elements");
    want(!s.counts ||
             std::ranges::any_of(
                 p_.gated, [&](const GatedBlock& g) { return g.first <= index && index < g.end; }),
         what + " has its workgroups counted by nobody");
  }

  /// What its gates tell: whether it is done and what runs, in one piece of memory that somebody
  /// has written before and that gates write to.
  void gated(const GatedBlock& g) const {
    // Words that it writes and the host reads, or the other way round.
    const auto told = [&](const Place& place) {
      const auto has = room(place, g.first, g.end - 1);
      want(has && *has >= 4, "a gated block tells where nothing lives");
    };
    told(g.done);
    if (g.iterations) told(*g.iterations);
    if (g.slices) {
      told(g.slices->steps);
      // Later ones are as long as the host finds that they may be.
      want(g.slices->first <= most_first_slice &&
               (g.slices->most == 0 || g.slices->first <= g.slices->most),
           "a gated block begins with a slice longer than any");
    }
    const auto state = std::ranges::find_if(p_.allocations, [&](const Allocation& a) {
      return a.first_step < g.first && g.end - 1 <= a.last_step && a.offset == g.done.offset;
    });
    want(state != p_.allocations.end(), "a gated block is told by nothing where it begins");
    std::vector<std::pair<std::uint64_t, std::uint64_t>> used = {{g.done.offset, 4}};
    bool begins = false, gates = false;
    for (std::uint32_t i = state->first_step; i < g.end; ++i) {
      const Step& s = p_.steps[i];
      for (std::size_t o = 0; o < s.operands.size() && s.kind == Step::Kind::dispatch; ++o) {
        const bool writes = s.operands[o] == Place{Place::Kind::arena, 0, state->offset} &&
                            p_.kernels[s.kernel].buffers[o].access != kernel::Access::read &&
                            s.groups > 0;
        begins |= writes && i < g.first && !s.counts;
        gates |= writes && i >= g.first;
      }
      if (!s.counts || i < g.first) continue;
      const std::uint64_t groups =
          s.kind == Step::Kind::copy ? copy_groups(s.bytes, target_) : s.groups;
      used.emplace_back(
          s.counts->offset,
          12 * grid_of(static_cast<std::uint32_t>(groups), target_.max_groups).size());
    }
    want(begins && gates, "a gated block has no gates");
    std::ranges::sort(used);
    std::uint64_t end = state->offset;
    for (const auto& [offset, bytes] : used) {
      want(end <= offset && offset + bytes <= state->offset + state->bytes,
           "gates count workgroups where they do not count them");
      end = offset + bytes;
    }
  }

  // ---- what loops are written out to, by the rules of the engine's loop scheduler

  struct Written {
    double dispatches = 0;  // recorded
    double orders = 0;      // stretches that are submitted
    double all = 0;         // dispatches that run
  };

  void written_out() {
    // From inside out: loops inside stand behind those around them.
    std::vector<Written> loops(p_.loops.size());
    std::vector<std::vector<std::uint32_t>> inside(p_.loops.size());
    std::vector<std::uint32_t> around, top;
    for (std::uint32_t l = 0; l < p_.loops.size(); ++l) {
      while (!around.empty() && p_.loops[around.back()].end <= p_.loops[l].first) around.pop_back();
      (around.empty() ? top : inside[around.back()]).push_back(l);
      around.push_back(l);
    }
    for (std::uint32_t l = static_cast<std::uint32_t>(loops.size()); l-- > 0;)
      loops[l] = written(p_.loops[l], sum(p_.loops[l].first, p_.loops[l].end, inside[l], loops));
    const Written all = sum(0, static_cast<std::uint32_t>(p_.steps.size()), top, loops);
    std::uint64_t widest = 0;
    for (const Step& s : p_.steps)
      widest = std::max(widest, std::uint64_t{s.operands.size()} + s.parameters.size());
    // Parameters of each dispatch are as wide as the widest, and lie there four times.
    const double bytes = all.dispatches * (256 + 16 * static_cast<double>(widest));
    want(bytes <= most_recorded_bytes && all.orders <= most_orders,
         "loops take too many dispatches to be written out");
  }

  Written sum(std::uint32_t first, std::uint32_t end, const std::vector<std::uint32_t>& loops,
              const std::vector<Written>& known) const {
    Written r;
    double steps = end - first;
    for (const std::uint32_t l : loops) {
      steps -= p_.loops[l].end - p_.loops[l].first;
      r.dispatches += known[l].dispatches;
      r.orders += known[l].orders;
      r.all += known[l].all;
    }
    r.dispatches += steps;
    r.all += steps;
    return r;
  }

  static Written written(const LoopBlock& l, const Written& pass) {
    const double phases = static_cast<double>(l.phases.size()),
                 passes = std::max(1.0, static_cast<double>(l.trips) / phases);
    Written r{pass.dispatches * passes, pass.orders * passes, pass.all * passes};
    if (r.all <= chunk || !l.advance) return r;
    // One chunk and what is left, each recorded once.
    const double inside = std::max(1.0, chunk / std::max(pass.all, 1.0));
    const double some = std::min(passes, inside);
    r.orders = (pass.orders * some + 1) * (passes / some);
    r.dispatches = 2 * (pass.dispatches * some + 1);
    return r;
  }

  /// Steps of few operations that Target::slice_work is good for.
  static constexpr std::uint64_t most_first_slice = std::uint64_t{1} << 22;
  static constexpr double chunk = 256, most_orders = 1 << 24,
                          most_recorded_bytes = std::uint64_t{1} << 29;

  const Program& p_;
  const Target& target_;
};

// ---- gates

/// What gates write where the device looks for what runs next: whether all is over, and counts of
/// workgroups as the plan has them or none. Whatever they decide, no more runs than the plan says.
class Gates {
 public:
  explicit Gates(const SavedVariant& v) : v_(v), p_(v.file.program) {}

  void all() {
    for (const GatedBlock& g : p_.gated) block(g);
  }

 private:
  using Words = std::vector<module_check::StoredWord>;

  /// What a word of the state may be; begun where something has written it before the block.
  struct Word {
    std::uint32_t one = 0, other = 0;
    bool begun = false;
  };

  void block(const GatedBlock& g) {
    const Allocation& state =
        *std::ranges::find_if(p_.allocations, [&](const Allocation& a) {  // Plan::gated
          return a.first_step < g.first && g.end - 1 <= a.last_step && a.offset == g.done.offset;
        });
    const std::uint64_t end = state.offset + state.bytes;
    std::map<std::uint32_t, Word> known = {{0, {0, 1}}};
    const auto index = [&](std::uint64_t offset) {
      return static_cast<std::uint32_t>((offset - state.offset) / 4);
    };
    for (std::uint32_t i = g.first; i < g.end; ++i) {
      const Step& s = p_.steps[i];
      if (!s.counts) continue;
      std::uint32_t word = index(s.counts->offset);
      const std::uint32_t groups =
          s.kind == Step::Kind::copy ? copy_groups(s.bytes, v_.target) : s.groups;
      for (const GridPiece& piece : grid_of(groups, v_.target.max_groups)) {
        known[word++] = {0, piece.x};
        known[word++] = {piece.y, piece.y};
        known[word++] = {1, 1};
      }
    }
    const auto in_state = [&](const Place& place) {
      return place.kind == Place::Kind::arena && state.offset <= place.offset && place.offset < end;
    };
    want(!g.slices || !in_state(g.slices->steps), "the host writes where gates do");
    for (const LoopBlock& l : p_.loops)
      want(!l.advance || l.end <= state.first_step || g.end <= l.first ||
               std::ranges::none_of(p_.advances[*l.advance].operands, in_state),
           "a loop's counter lies where gates write");
    for (std::uint32_t i = state.first_step; i < g.end; ++i) {
      const Step& s = p_.steps[i];
      for (std::size_t o = 0; o < s.operands.size(); ++o) {
        const bool writes = s.kind == Step::Kind::copy
                                ? o == 1
                                : p_.kernels[s.kernel].buffers[o].access != kernel::Access::read;
        if (!writes || !in_state(s.operands[o])) continue;
        const std::string what = "step `" + s.label + "`";
        want(s.kind == Step::Kind::dispatch && s.operands[o].offset == state.offset &&
                 s.iterations.empty(),
             what + " writes where gates do");
        const bool begins = i < g.first && !s.counts && s.groups > 0;
        written(s, static_cast<std::uint32_t>(o), state.bytes / 4, begins, known);
      }
    }
    for (const auto& [word, w] : known)
      want(w.begun, "a gated block begins without a word that its gates leave alone");
  }

  void written(const Step& s, std::uint32_t buffer, std::uint64_t words, bool begins,
               std::map<std::uint32_t, Word>& known) {
    const std::string what = "gate `" + s.label + "`";
    const auto number = [&](const module_check::Source& source) {
      return source.parameter ? s.parameters[*source.parameter] : source.number;
    };
    bool first = true;
    for (const Words& module : stored(s.kernel, buffer)) {
      std::set<std::uint32_t> begun;
      for (const module_check::StoredWord& w : module) {
        const std::uint32_t at = number(w.word);
        want(at < words, what + " writes behind what gates tell");
        begun.insert(at);
        const auto of = known.find(at);
        if (of == known.end()) continue;  // nobody looks
        for (const module_check::Source& value : w.values)
          want(number(value) == of->second.one || number(value) == of->second.other,
               what + " counts other workgroups than there are");
      }
      // Whichever module runs.
      if (begins && first)
        for (auto& [at, w] : known) w.begun |= begun.contains(at);
      first = false;
    }
  }

  /// Of each module of a kernel.
  const std::vector<Words>& stored(std::uint32_t kernel, std::uint32_t buffer) {
    const auto [at, fresh] = stored_.try_emplace({kernel, buffer});
    if (!fresh) return at->second;
    const kernel::Kernel& k = p_.kernels[kernel];
    want(size_of(k.buffers[buffer].dtype) == 4, "kernel `" + k.name + "` is no gate");
    for (const ProgramModule& m : v_.file.modules) {
      if (m.kernel != kernel) continue;
      auto words = module_check::stored_words(m.words, k, buffer);
      want(words.has_value(), "kernel `" + k.name + "` writes what is no gate's to write");
      at->second.push_back(std::move(*words));
    }
    return at->second;
  }

  const SavedVariant& v_;
  const Program& p_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Words>> stored_;
};

// ---- modules

void check_modules(const SavedVariant& v) {
  const Program& p = v.file.program;
  const kernel::Kernel copy = copy_frame(v.target);
  std::vector<bool> has(p.kernels.size() + 1);
  std::vector<const ProgramModule*> seen;
  for (const ProgramModule& m : v.file.modules) {
    const bool own = m.kernel < p.kernels.size();
    const std::string name = own ? p.kernels[m.kernel].name : copy.name;
    want(m.kernel <= p.kernels.size(), "a module belongs to no kernel");
    for (const std::uint8_t w : m.windows)
      want(w < spirv::max_windows, "a module has no such window");
    want(m.driver_data.empty(), "a module has a driver's data, which no saved function has");
    want(m.joined_rows == 0, "a module is for joined dispatches, which no saved function has");
    if (const auto bad =
            module_complaint(m.words, own ? p.kernels[m.kernel] : copy, m.windows, v.target))
      throw Complaint{"kernel `" + name + "`: " + *bad};
    want(own || module_check::stored_bytes(m.words) == copy_unit(v.target),
         "a module does not copy as its target does");
    has[m.kernel] = has[m.kernel] || std::ranges::all_of(m.windows, [](auto w) { return w == 0; });
  }
  const auto runs = [&](const Step& s) {
    const std::size_t k = s.kind == Step::Kind::copy ? p.kernels.size() : s.kernel;
    want(has[k], "step `" + s.label + "` has no module");
  };
  for (const Step& s : p.steps) runs(s);
  for (const Step& s : p.advances) runs(s);
}

void check(const Target& t) {
  // What Vulkan 1.1 guarantees (section "Required Limits"): grids are of few pieces then.
  want(t.max_groups >= 65535, "a target has grids smaller than any device's");
  want(t.group_size > 0 && t.group_size <= t.max_group_invocations,
       "a target has workgroups that it cannot run");
}

void check(const SavedEntry& e, const SavedVariant& v) {
  const Program& p = v.file.program;
  if (const auto bad = complaint(p)) throw Complaint{*bad};
  check(v.target);
  std::vector<Aval> inputs, outputs;
  for (const SavedLeaf& l : e.arguments) inputs.push_back(l.aval);
  for (const SavedCapture& c : e.captures) inputs.push_back(c.aval);
  for (const SavedLeaf& l : e.results) outputs.push_back(l.aval);
  outputs.insert(outputs.end(), e.records.begin(), e.records.end());
  want(p.inputs == inputs && p.outputs == outputs,
       "its program takes or gives other arrays than it says");
  for (const kernel::Kernel& k : p.kernels)
    want(k.group_size <= v.target.max_group_invocations,
         "kernel `" + k.name + "` has workgroups of " + std::to_string(k.group_size) +
             " and its target " + std::to_string(v.target.max_group_invocations));
  Plan(p, v.target).all();
  check_modules(v);
  Gates(v).all();
}

}  // namespace

std::optional<std::string> complaint(const SavedFile& file) {
  std::string name;
  try {
    std::vector<std::string> names;
    for (const SavedEntry& e : file.entries) names.push_back(e.name);
    std::ranges::sort(names);
    want(!std::ranges::binary_search(names, std::string()) &&
             std::ranges::adjacent_find(names) == names.end(),
         "two functions have one name, or one has none");
    for (const SavedEntry& e : file.entries) {
      name = "entry `" + e.name + "`: ";
      want(!e.variants.empty(), "it is compiled for nothing");
      for (const SavedCapture& c : e.captures)
        want(c.bytes.size() == bytes_of(c.aval), "a captured " + to_string(c.aval) + " has " +
                                                     std::to_string(c.bytes.size()) + " bytes");
      want(e.effects.arrays == e.records.size(), "it has records of no statement");
      // One behind the other, as EffectTable::read takes them.
      std::size_t next = 0;
      for (const Statement& s : e.effects.statements) {
        check(s, e.records);
        want(s.first == next, "a statement has another's records");
        next += s.count;
      }
      want(next == e.records.size(), "it has records of no statement");
      for (const SavedVariant& v : e.variants) check(e, v);
    }
  } catch (const Complaint& found) {
    return name + found.what;
  }
  return std::nullopt;
}

}  // namespace gnomon
