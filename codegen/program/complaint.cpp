// codegen/program/complaint.cpp -- whether the numbers of a Program make sense together.
#include <algorithm>
#include <utility>

#include "codegen/program/program_file.h"
#include "codegen/program/want.h"
#include "gnomon/error.h"

namespace gnomon {
namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{1} << 62;
/// That a slice may be told to take: it is told by an i32.
constexpr std::uint64_t most_steps = 0x7fffffff;

// Of an array; sizes are multiplied only as long as they stay small.
std::uint64_t bytes_of(const Aval& aval, const std::string& what) {
  want(aval.dtype <= DType::f64, what + " has no such dtype");
  std::uint64_t bytes = size_of(aval.dtype);
  bool empty = false;
  for (const Dim d : aval.shape) {
    want(d >= 0, what + " has a negative dimension");
    const auto size = static_cast<std::uint64_t>(d);
    empty |= size == 0;
    want(size == 0 || bytes <= most_bytes / size, what + " is too large");
    bytes *= std::max<std::uint64_t>(size, 1);
  }
  return empty ? 0 : bytes;
}

class Examination {
 public:
  explicit Examination(const Program& program) : p_(program) {}

  void all() {
    want(p_.arena_bytes <= most_bytes, "the arena is too large");
    for (const Aval& a : p_.inputs) inputs_.push_back(bytes_of(a, "an input"));
    for (const Aval& a : p_.outputs) outputs_.push_back(bytes_of(a, "an output"));
    for (const kernel::Kernel& k : p_.kernels) kernel(k);
    for (const Step& s : p_.steps) step(s);
    loops();
    gated();
    for (const TripRecord& t : p_.trips) {
      want(t.lanes > 0 && t.together > 0, "a record of trips has no lanes");
      word(t.place, std::uint64_t{4} * t.lanes, "a record of trips");
    }
    for (const Allocation& a : p_.allocations) {
      want(a.offset <= p_.arena_bytes && a.bytes <= p_.arena_bytes - a.offset,
           "an allocation lies outside of the arena");
      want(a.first_step <= a.last_step && a.last_step <= steps(),
           "an allocation has no such lifetime");
    }
  }

 private:
  std::uint64_t steps() const { return p_.steps.size(); }

  static void kernel(const kernel::Kernel& k) {
    const std::string what = "kernel `" + k.name + "`";
    want(k.lanes == 0, what + " is in lane form");
    want(k.group_size > 0, what + " has empty workgroups");
    for (const kernel::Buffer& b : k.buffers) {
      want(b.dtype <= DType::f64 && b.access <= kernel::Access::read_write,
           what + " has no such buffer");
      want(!b.texel || b.access == kernel::Access::read, what + " writes texels");
    }
  }

  std::uint64_t room(const Place& place, const std::string& what) const {
    const bool input = place.kind == Place::Kind::input, output = place.kind == Place::Kind::output;
    want(place.kind <= Place::Kind::constants, what + " has no such place");
    want(!input || place.index < inputs_.size(), what + " has no such input");
    want(!output || place.index < outputs_.size(), what + " has no such output");
    const std::uint64_t bytes = input                              ? inputs_[place.index]
                                : output                           ? outputs_[place.index]
                                : place.kind == Place::Kind::arena ? p_.arena_bytes
                                                                   : p_.constants.size();
    want(place.offset <= bytes, what + " lies outside of its array");
    return bytes - place.offset;
  }

  // Words in the arena that the engine itself reads or writes.
  void word(const Place& place, std::uint64_t bytes, const std::string& what) const {
    want(place.kind == Place::Kind::arena && place.offset % 4 == 0, what + " lies in no arena");
    want(bytes <= room(place, what), what + " lies outside of the arena");
  }

  void step(const Step& s) const {
    const std::string what = "step `" + s.label + "`";
    want(s.kind <= Step::Kind::copy, what + " is of no known kind");
    for (const Place& place : s.operands) {
      room(place, what);
      want(place.offset % 256 == 0, what + " has an operand that is not aligned");
    }
    if (s.kind == Step::Kind::copy) {
      want(s.operands.size() == 2, what + " does not copy from one place to another");
      for (const Place& place : s.operands)
        want(s.bytes <= room(place, what), what + " copies what is not there");
    } else {
      want(s.kernel < p_.kernels.size(), what + " has no such kernel");
      const kernel::Kernel& k = p_.kernels[s.kernel];
      want(s.operands.size() == k.buffers.size(), what + " does not fit its kernel's buffers");
      want(s.parameters.size() == k.parameters, what + " does not fit its kernel's parameters");
    }
    for (const IterationWord& w : s.iterations)
      want(w.word < s.parameters.size() && w.loop < p_.loops.size(),
           what + " counts no such iterations");
    if (s.counts) word(*s.counts, 12, what);
  }

  void results(const std::vector<std::uint32_t>& outputs) const {
    for (const std::uint32_t o : outputs) want(o < p_.outputs.size(), "a loop has no such result");
  }

  // Loops around a step, outermost first, as a walk over the loops finds them.
  void loops() {
    constexpr std::size_t deepest = 64;
    std::vector<const LoopBlock*> around;
    for (const LoopBlock& l : p_.loops) {
      want(l.first < l.end && l.end <= steps(), "a loop has no such steps");
      want(!l.phases.empty() && l.phases[0] == l.first && l.phases.back() < l.end &&
               std::is_sorted(l.phases.begin(), l.phases.end()),
           "a loop has no such phases");
      results(l.results);
      if (l.advance) {
        const std::string what = "a loop's counter cannot be advanced";
        want(*l.advance < p_.advances.size(), what);
        const Step& advance = p_.advances[*l.advance];
        step(advance);
        want(advance.kind == Step::Kind::dispatch && !advance.parameters.empty(), what);
      }
      // Outer ones come first; nobody begins in one loop, or one phase of it, and ends in another.
      while (!around.empty() && around.back()->end <= l.first) around.pop_back();
      if (!around.empty()) {
        const LoopBlock& outer = *around.back();
        const auto next = std::ranges::upper_bound(outer.phases, l.first);
        want(outer.first <= l.first && l.end <= outer.end &&
                 (next == outer.phases.end() || l.end <= *next),
             "loops overlap");
      } else {
        want(&l == p_.loops.data() || (&l)[-1].first <= l.first, "loops overlap");
      }
      around.push_back(&l);
      want(around.size() <= deepest, "loops lie too deep");
    }
  }

  void gated() {
    for (std::size_t i = 0; i < p_.gated.size(); ++i) {
      const GatedBlock& g = p_.gated[i];
      want(g.first < g.end && g.end <= steps(), "a gated block has no such steps");
      want(i == 0 || p_.gated[i - 1].end <= g.first, "gated blocks overlap");
      word(g.done, 4, "a gated block");
      if (g.iterations) word(*g.iterations, 4, "a gated block");
      if (g.slices) {
        word(g.slices->steps, 4, "a gated block");
        want(g.slices->first > 0 && g.slices->first <= most_steps && g.slices->per_pass <= 65536,
             "a gated block has no such slices");
      }
      results(g.results);
    }
    for (const LoopBlock& l : p_.loops) {
      const auto g = std::ranges::upper_bound(p_.gated, l.first, {}, &GatedBlock::end);
      want(g == p_.gated.end() || l.end <= g->first || (g->first <= l.first && l.end <= g->end),
           "a loop crosses a gated block");
    }
  }

  const Program& p_;
  std::vector<std::uint64_t> inputs_, outputs_;  // in bytes
};

}  // namespace

std::optional<std::string> complaint(const Program& program) {
  try {
    Examination(program).all();
  } catch (const Complaint& found) {
    return found.what;
  }
  return std::nullopt;
}

}  // namespace gnomon
