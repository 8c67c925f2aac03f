// codegen/plan/group_kernel.cpp -- parts become loops over their invocations, hazards barriers.
#include "codegen/plan/group_kernel.h"

#include <algorithm>
#include <map>
#include <set>

#include "codegen/plan/ownership.h"
#include "shaders/kernel/verify.h"
#include "shaders/passes/rewrite.h"
#include "shaders/passes/simplify.h"
#include "shaders/support/check.h"

namespace gnomon {

using kernel::Instruction;
using kernel::Op;
using kernel::Region;
using kernel::Value;
using kernel::Values;

namespace {

bool works_together(const Region& r) {
  return std::any_of(r.body.begin(), r.body.end(), [](const Instruction& i) {
    return kernel::is_collective(i.op) || i.op == Op::atomic_add ||
           kernel::space(i.op) == kernel::Space::shared_array ||
           std::any_of(i.regions.begin(), i.regions.end(), works_together);
  });
}

/// Whether nothing of a buffer is loaded behind a store to it. `wide`: some load is of whole
/// texels.
struct LoadsFirst {
  bool holds = true, wide = false, stored = false, loaded = false;

  LoadsFirst(const kernel::Kernel& k, std::uint32_t buffer) : kernel_(k), buffer_(buffer) {
    walk(k.body);
  }

 private:
  void walk(const Region& r) {
    for (const Instruction& i : r.body) {
      if (i.op == Op::load && i.immediate == buffer_) {
        loaded = true;
        holds = holds && !stored;
        const Value index = i.operands[0];
        wide = wide || (kernel_.type(i.results[0]).width >= 4 && kernel_.type(index).width == 1);
      }
      if (i.op == Op::store && i.immediate == buffer_) stored = true;
      if (kernel::is_atomic(i.op) && i.immediate == buffer_) holds = false;
      const LoadsFirst before = *this;
      if (i.op == Op::loop) loaded = stored = false;
      for (const Region& inner : i.regions) walk(inner);
      if (i.op != Op::loop) continue;
      // The next trip loads what lies behind the store of this one.
      holds = holds && !(loaded && stored) && !(loaded && before.stored);
      loaded = loaded || before.loaded;
      stored = stored || before.stored;
    }
  }

  const kernel::Kernel& kernel_;
  std::uint32_t buffer_;
};

/// One part for one of its invocations.
class Played final : public kernel::Rewriter {
 public:
  Played(const kernel::Kernel& source, kernel::Builder& out) : Rewriter(source, out) {}

  Value invocation;
  std::vector<std::uint32_t> buffers;       // of the whole kernel, per buffer of the part
  std::vector<std::uint32_t> readers;       // the same, for loads
  std::vector<std::optional<Value>> known;  // per buffer: what it holds, an i32
  std::vector<Value> parameters;
  std::uint32_t first_private = 0;

 protected:
  void visit(const Instruction& i) override {
    switch (i.op) {
      case Op::invocation:
        return map(i.results[0], invocation);
      case Op::group_index:
        return map(i.results[0], out_.div(invocation, out_.u32(source_.group_size)));
      case Op::local_index:
        return map(i.results[0], out_.rem(invocation, out_.u32(source_.group_size)));
      case Op::parameter:
        return map(i.results[0], parameters.at(i.immediate));
      case Op::load:
        if (const auto& value = known[i.immediate]) {
          const std::uint8_t width = source_.type(i.results[0]).width;
          return map(i.results[0], width == 1 ? *value : out_.splat(*value, width));
        }
        return moved(i, readers[i.immediate]);
      case Op::store:
      case Op::atomic_and:
      case Op::atomic_or:
        return moved(i, buffers[i.immediate]);
      case Op::private_load:
      case Op::private_store:
        return moved(i, first_private + static_cast<std::uint32_t>(i.immediate));
      default:
        return copy(i);
    }
  }

 private:
  void moved(const Instruction& i, std::uint32_t to) {
    Instruction there = i;
    there.immediate = to;
    copy(there);
  }
};

class Assembly {
 public:
  Assembly(const std::string& name, std::span<const kernel::Kernel> kernels,
           std::uint32_t group_size, bool texel_reads)
      : kernels_(kernels),
        k_(name),
        group_size_(group_size),
        texel_reads_(texel_reads),
        local_(k_.source(Op::local_index)) {
    k_.kernel().group_size = group_size;
    flag_ = k_.shared_array({DType::u32, 1});
  }

  /// Makes the buffers. False when a part cannot be played.
  bool prepare(const GroupProgram& program, const std::optional<GroupSlice>& slice) {
    collect(program);
    if (slice) {
      collect(slice->before);
      uses_[slice->counter].insert(DType::i32);
      uses_[slice->more].insert(DType::i32);
      written_.insert({slice->counter, slice->more});
    }
    for (const auto& [slot, dtypes] : uses_) {
      if (counters_.contains(slot)) continue;
      for (DType t : dtypes) {
        const bool writes = written_.contains(slot);
        const bool texel = texels_.contains(slot) && size_of(t) == 4;
        const std::string buffer = "m" + std::to_string(slot);
        const auto add = [&, at = slot](kernel::Buffer b) {
          operands_.push_back(at);
          return k_.buffer(std::move(b));
        };
        using kernel::Access;
        if (!writes || texel) readers_[{slot, t}] = add({t, Access::read, writes, texel, buffer});
        if (writes)
          buffers_[{slot, t}] = add({t, Access::read_write, true, false, buffer});
        else
          buffers_[{slot, t}] = readers_.at({slot, t});
      }
    }
    return playable_;
  }

  void play(const GroupProgram& program, const std::optional<GroupSlice>& slice = {}) {
    for (const auto& item : program.items) {
      if (const auto* part = std::get_if<GroupPart>(&item))
        play(*part);
      else if (const auto* copy = std::get_if<GroupCopy>(&item))
        play(*copy);
      else if (const auto* loop = std::get_if<GroupLoop>(&item))
        play(*loop, &item == &program.items.back() ? slice : std::nullopt);
      else
        play(std::get<GroupBranch>(item));
    }
  }

  GroupKernel take() {
    kernel::Kernel made = kernel::simplify(k_.take());
    kernel::verify(made);
    return {std::move(made), std::move(operands_), std::move(around_)};
  }

 private:
  // ---- what is there

  void collect(const GroupProgram& program) {
    for (const auto& item : program.items) {
      if (const auto* part = std::get_if<GroupPart>(&item)) {
        playable_ = playable_ && !works_together(kernels_[part->kernel].body);
        for (std::size_t b = 0; b < part->operands.size(); ++b) {
          const kernel::Buffer& buffer = kernels_[part->kernel].buffers[b];
          uses_[part->operands[b]].insert(buffer.dtype);
          if (buffer.access != kernel::Access::read) written_.insert(part->operands[b]);
          if (buffer.texel || updated_in_texels(*part, static_cast<std::uint32_t>(b)))
            texels_.insert(part->operands[b]);
        }
      } else if (const auto* copy = std::get_if<GroupCopy>(&item)) {
        uses_[copy->from].insert(DType::u32);
        uses_[copy->to].insert(DType::u32);
        written_.insert(copy->to);
      } else if (const auto* loop = std::get_if<GroupLoop>(&item)) {
        counters_.insert(loop->counter);
        for (const GroupProgram& s : loop->phases) collect(s);
        for (const GroupProgram& s : loop->conditions) collect(s);
        if (!loop->conditions.empty()) uses_[loop->decision].insert(DType::u32);
        collect(loop->back);
      } else {
        const auto& branch = std::get<GroupBranch>(item);
        uses_[branch.decision].insert(DType::u32);
        collect(branch.choice);
        for (const GroupProgram& s : branch.sides) collect(s);
      }
    }
  }

  /// Whether the invocations of a part read what each of them then writes in place, and so much of
  /// it that reading texels, which takes a barrier, is quicker than a storage buffer.
  bool updated_in_texels(const GroupPart& part, std::uint32_t b) const {
    const kernel::Kernel& k = kernels_[part.kernel];
    if (!texel_reads_ || part.invocations < 4 * group_size_ || size_of(k.buffers[b].dtype) != 4 ||
        k.buffers[b].access != kernel::Access::read_write ||
        !ownership(k, b, part.invocations).known())
      return false;
    const LoadsFirst loads(k, b);
    return loads.holds && loads.wide;
  }

  // ---- barriers

  /// What was read and changed of an array, and how the invocations shared it.
  using Touched = std::map<SlotId, std::vector<Ownership>>;

  static void add(Touched& to, const Touched& more) {
    for (const auto& [slot, ways] : more)
      for (const Ownership& way : ways)
        if (auto& known = to[slot]; std::find(known.begin(), known.end(), way) == known.end())
          known.push_back(way);
  }
  /// Whether one invocation may touch what another one has touched.
  static bool meet(const Touched& a, const Touched& b) {
    return std::any_of(a.begin(), a.end(), [&](const auto& touched) {
      const auto other = b.find(touched.first);
      if (other == b.end()) return false;
      return std::any_of(touched.second.begin(), touched.second.end(), [&](const Ownership& x) {
        return std::any_of(other->second.begin(), other->second.end(),
                           [&](const Ownership& y) { return !keeps_apart(x, y); });
      });
    });
  }
  static bool hazard(const Touched& reads, const Touched& changes, const Touched& later_reads,
                     const Touched& later_changes) {
    return meet(later_reads, changes) || meet(later_changes, changes) || meet(later_changes, reads);
  }

  void barrier() {
    k_.barrier();
    read_.clear();
    changed_.clear();
    if (head_ != nullptr && k_.depth() == head_->depth) head_->open = false;
  }
  void synchronise() {
    if (!read_.empty() || !changed_.empty()) barrier();
  }
  /// A barrier where one is due between what ran since the last one and this.
  void touch(const Touched& reads, const Touched& changes) {
    if (hazard(read_, changed_, reads, changes)) barrier();
    add(read_, reads);
    add(changed_, changes);
    for (Head* h = head_; h != nullptr; h = h->outer) {
      if (!h->open) continue;
      add(h->reads, reads);
      add(h->changes, changes);
    }
  }

  /// What an iteration touches before its first barrier: the one before meets it there.
  struct Head {
    std::uint32_t depth;
    Head* outer;
    bool open;
    Touched reads, changes;
  };

  /// What parts read as texels is read so here as well, although others write it: behind a
  /// barrier, through a view of its own. A storage buffer is read lane by lane by the drivers that
  /// want texels.
  std::uint32_t buffer_of(SlotId slot, const kernel::Buffer& of_part) const {
    const auto reader = readers_.find({slot, of_part.dtype});
    return of_part.texel && reader != readers_.end() ? reader->second
                                                     : buffers_.at({slot, of_part.dtype});
  }

  // ---- pieces

  /// f(i) for i < count, shared out among the invocations.
  void share_out(std::uint32_t count, const std::function<void(Value)>& f) {
    const auto body = [&](Value i) {
      f(i);
      return Values{};
    };
    if (count == group_size_) {
      f(local_);
      return;
    }
    if (count < group_size_) {
      k_.if_(
          k_.compare(Op::lt, local_, k_.u32(count)), [&] { return body(local_); },
          [] { return Values{}; });
      return;
    }
    const Value start[] = {local_};
    k_.loop(
        start, (count + group_size_ - 1) / group_size_,
        [&](std::span<const Value> i) { return k_.compare(Op::lt, i[0], k_.u32(count)); },
        [&](std::span<const Value> i) {
          f(i[0]);
          return Values{k_.add(i[0], k_.u32(group_size_))};
        });
  }

  void play(const GroupPart& part) {
    Touched reads, changes;
    std::vector<std::uint32_t> buffers(part.operands.size(), 0), readers = buffers;
    for (std::uint32_t b = 0; b < part.operands.size(); ++b) {
      const SlotId s = part.operands[b];
      if (counters_.contains(s)) continue;
      const kernel::Buffer& buffer = kernels_[part.kernel].buffers[b];
      const std::uint32_t written_through = buffers_.at({s, buffer.dtype});
      const Ownership way = ownership(kernels_[part.kernel], b, part.invocations);
      // What an invocation has written itself it reads where it wrote it; what others have written
      // lies behind a barrier.
      const Touched here{{s, {way}}};
      const bool own = changed_.contains(s) && !meet(here, changed_);
      buffers[b] = own ? written_through : buffer_of(s, buffer);
      readers[b] = buffers[b];
      if (!own && updated_in_texels(part, b)) readers[b] = readers_.at({s, buffer.dtype});
      if (buffer.access != kernel::Access::write)
        reads[s].push_back(readers[b] == written_through ? way : Ownership{});
      if (buffer.access != kernel::Access::read) changes[s].push_back(way);
    }
    touch(reads, changes);
    Played played(kernels_[part.kernel], k_);
    for (std::size_t b = 0; b < part.operands.size(); ++b) {
      const SlotId s = part.operands[b];
      const auto number = numbers_.find(s);
      played.known.push_back(number == numbers_.end() ? std::nullopt
                                                      : std::optional(number->second));
      played.buffers.push_back(buffers[b]);
      played.readers.push_back(readers[b]);
    }
    for (std::uint32_t word : part.parameters) played.parameters.push_back(k_.u32(word));
    for (const auto& [word, loop] : part.iterations)
      played.parameters.at(word) =
          loop < first_group_loop ? around(loop) : k_.convert(iterations_.at(loop), DType::u32);
    played.first_private = static_cast<std::uint32_t>(k_.kernel().privates.size());
    for (const kernel::LocalArray& a : kernels_[part.kernel].privates) k_.private_array(a);
    share_out(part.invocations, [&](Value i) {
      played.invocation = i;
      static_cast<kernel::Rewriter&>(played).copy(kernels_[part.kernel].body);
    });
  }

  void play(const GroupCopy& copy) {
    const auto words = static_cast<std::uint32_t>((copy.bytes + 3) / 4);
    const Ownership way = words == 1 ? Ownership::alone() : Ownership{4, std::uint64_t{4} * words};
    touch({{copy.from, {way}}}, {{copy.to, {way}}});
    const auto from = buffers_.at({copy.from, DType::u32}), to = buffers_.at({copy.to, DType::u32});
    share_out(words, [&](Value i) { k_.store(to, i, k_.load(from, i)); });
  }

  /// The number of the iteration of a loop around the kernel.
  Value around(std::uint32_t loop) {
    const auto at = std::find(around_.begin(), around_.end(), loop);
    const auto word = static_cast<std::uint32_t>(at - around_.begin());
    if (at == around_.end()) {
      around_.push_back(loop);
      k_.parameter_word();
    }
    return k_.parameter(word);
  }

  /// A u32 in memory, as one value for all invocations.
  Value shared_word(SlotId slot, DType dtype = DType::u32) {
    synchronise();
    k_.if_(
        k_.compare(Op::eq, local_, k_.u32(0)),
        [&] {
          const Value word = k_.load(buffers_.at({slot, dtype}), k_.u32(0));
          k_.shared_store(flag_, k_.u32(0), k_.convert(word, DType::u32));
          return Values{};
        },
        [] { return Values{}; });
    k_.barrier();
    const Value word = k_.shared_load(flag_, k_.u32(0));
    k_.barrier();
    return word;
  }

  /// Iteration `under way` of a loop: what its parts take for its number.
  void number(const GroupLoop& loop, Value under_way) {
    iterations_[loop.id] = under_way;
    numbers_[loop.counter] = loop.by_word ? k_.i32(0) : under_way;
  }

  /// Whether iteration `next` takes place.
  Value decide(const GroupLoop& loop, std::size_t phase, Value next) {
    const Value one = k_.i32(1);
    const auto ask = [&] {
      number(loop, k_.sub(next, one));
      play(loop.conditions[phase]);
      const Value go = k_.compare(Op::ne, shared_word(loop.decision), k_.u32(0));
      return Values{go};
    };
    if (!loop.most || *loop.most > 0x7fffffffu) return ask()[0];
    const Value within = k_.compare(Op::lt, next, k_.i32(static_cast<std::int32_t>(*loop.most)));
    if (loop.conditions.empty()) return within;
    synchronise();
    return k_.if_(within, ask, [&] { return Values{k_.boolean(false)}; })[0];
  }

  /// Iterations done so far.
  Value begin(const GroupSlice& slice) {
    const Value zero = k_.i32(0);
    const Value done = k_.convert(shared_word(slice.counter, DType::i32), DType::i32);
    if (!slice.before.items.empty())
      k_.if_(
          k_.compare(Op::lt, done, zero),
          [&] {
            play(slice.before);
            synchronise();
            return Values{};
          },
          [] { return Values{}; });
    return k_.binary(Op::maximum, done, zero);
  }

  void play(const GroupLoop& loop, const std::optional<GroupSlice>& slice) {
    synchronise();
    const Value one = k_.i32(1), no = k_.boolean(false);
    const Value first = slice ? begin(*slice) : k_.i32(0);
    const std::size_t phases = loop.phases.size();
    // Iterations done, and whether there is another one.
    const Value start[] = {first, decide(loop, 0, first)};
    std::uint64_t trips = loop.most.value_or(0);
    if (slice) trips = loop.most ? std::min(trips, slice->iterations) : slice->iterations;
    trips = (trips + phases - 1) / phases;
    const Value last =
        slice ? k_.add(first, k_.i32(static_cast<std::int32_t>(slice->iterations))) : Value{};
    const auto iteration = [&](std::size_t phase, Value at) {
      Head head{k_.depth(), head_, true, {}, {}};
      head_ = &head;
      number(loop, at);
      play(loop.phases[phase]);
      head_ = head.outer;
      if (phases > 1 || !loop.conditions.empty())
        synchronise();
      else if (hazard(read_, changed_, head.reads, head.changes))
        barrier();
      const Value next = k_.add(at, one);
      return Values{next, decide(loop, (phase + 1) % phases, next)};
    };
    const Values end = k_.loop(
        start, trips,
        [&](std::span<const Value> c) {
          return slice ? k_.land(c[1], k_.compare(Op::lt, c[0], last)) : c[1];
        },
        [&](std::span<const Value> c) {
          const Values r = iteration(0, c[0]);
          if (phases == 1) return r;
          return k_.if_(
              r[1], [&] { return iteration(1, r[0]); },
              [&] {
                return Values{r[0], no};
              });
        });
    numbers_.erase(loop.counter);
    if (!loop.back.items.empty()) {
      const Value odd = k_.compare(Op::ne, k_.binary(Op::band, end[0], one), k_.i32(0));
      k_.if_(
          slice ? k_.land(odd, k_.unary(Op::bnot, end[1])) : odd,
          [&] {
            play(loop.back);
            synchronise();
            return Values{};
          },
          [] { return Values{}; });
    }
    if (!slice) return;
    k_.if_(
        k_.compare(Op::eq, local_, k_.u32(0)),
        [&] {
          const Value zero = k_.u32(0);
          k_.store(buffers_.at({slice->counter, DType::i32}), zero, end[0]);
          k_.store(buffers_.at({slice->more, DType::i32}), zero, k_.convert(end[1], DType::i32));
          return Values{};
        },
        [] { return Values{}; });
  }

  void play(const GroupBranch& branch) {
    play(branch.choice);
    const Value choice = shared_word(branch.decision);
    const std::function<void(std::size_t)> from = [&](std::size_t i) {
      const auto side = [&] {
        play(branch.sides[i]);
        synchronise();
        return Values{};
      };
      if (i + 1 == branch.sides.size()) {
        side();
        return;
      }
      k_.if_(k_.compare(Op::eq, choice, k_.u32(static_cast<std::uint32_t>(i))), side, [&] {
        from(i + 1);
        return Values{};
      });
    };
    from(0);
  }

  std::span<const kernel::Kernel> kernels_;
  kernel::Builder k_;
  std::uint32_t group_size_;
  bool texel_reads_;
  Value local_;
  std::uint32_t flag_ = 0;
  bool playable_ = true;
  std::map<SlotId, std::set<DType>> uses_;
  std::set<SlotId> written_, texels_, counters_;
  std::map<std::pair<SlotId, DType>, std::uint32_t> buffers_;
  std::map<std::pair<SlotId, DType>, std::uint32_t> readers_;  // of what parts read as texels
  std::vector<SlotId> operands_;
  std::vector<std::uint32_t> around_;
  std::map<SlotId, Value> numbers_;            // per counter: what it holds
  std::map<std::uint32_t, Value> iterations_;  // per loop: the number of the iteration
  Touched read_, changed_;                     // since the last barrier
  Head* head_ = nullptr;                       // of the innermost loop
};

}  // namespace

std::optional<GroupKernel> group_kernel(const std::string& name,
                                        std::span<const kernel::Kernel> kernels,
                                        const GroupProgram& program, std::uint32_t group_size,
                                        const std::optional<GroupSlice>& slice, bool texel_reads) {
  Assembly assembly(name, kernels, group_size, texel_reads);
  if (!assembly.prepare(program, slice)) return std::nullopt;
  assembly.play(program, slice);
  return assembly.take();
}

}  // namespace gnomon
