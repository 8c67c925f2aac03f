// shaders/passes/vectorize.cpp -- splits accesses where it must, then merges them where it may.
#include "shaders/passes/vectorize.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "shaders/passes/affine.h"
#include "shaders/passes/rewrite.h"
#include "shaders/support/check.h"

namespace gnomon::kernel {
namespace {

constexpr std::uint32_t block = 4;  // elements of one wide access
constexpr std::uint8_t block_alignment = 2, half_alignment = 1;

bool is_access(const Instruction& i) { return i.op == Op::load || i.op == Op::store; }

/// Of what an access loads or stores.
Type accessed(const Kernel& k, const Instruction& access) {
  return k.type(access.op == Op::load ? access.results[0] : access.operands[1]);
}

template <class F>
bool any_access(const Region& region, const F& wanted) {
  return std::any_of(region.body.begin(), region.body.end(), [&](const Instruction& i) {
    return (is_access(i) && wanted(i)) ||
           std::any_of(i.regions.begin(), i.regions.end(),
                       [&](const Region& r) { return any_access(r, wanted); });
  });
}

/// Whether an access is of several elements and cannot be one.
bool is_split(const Kernel& k, const AffineFacts& facts, const Instruction& access,
              bool wide_access) {
  const Type t = accessed(k, access);
  const Value index = access.operands[0];
  if (t.width == 1) return false;
  if (k.type(index).width > 1) return true;
  const std::uint8_t alignment = facts[index].alignment_everywhere();
  const bool words = size_of(t.scalar) == 4;
  const bool one_mask =
      access.operands.size() < 2 || k.type(access.operands[1]).width == 1;  // of a load
  if (t.width == 2 && access.op == Op::load && k.buffers[access.immediate].texel)
    return !(wide_access && alignment >= half_alignment && words && one_mask);
  return !(wide_access && alignment >= block_alignment && words && t.width >= block);
}

/// Splits what cannot be one access.
class Splitter : public Rewriter {
 public:
  Splitter(const Kernel& source, Builder& out, const AffineFacts& facts, bool wide_access)
      : Rewriter(source, out),
        facts_(facts),
        definitions_(definitions(source)),
        wide_access_(wide_access) {}

  /// What is known of the values that the source has too. Of no other is anything known.
  AffineFacts facts() const {
    AffineFacts r;
    r.values.resize(out_.kernel().types.size());
    for (std::uint32_t v = 0; v < source_.types.size(); ++v)
      if (const Value now = mapped(Value{v}); now.valid()) r.values[now.index] = facts_[Value{v}];
    return r;
  }

 protected:
  void visit(const Instruction& i) override {
    if (i.op == Op::load) {
      load(i);
    } else if (i.op == Op::store) {
      store(i);
    } else {
      copy(i);
    }
  }

 private:
  void load(const Instruction& i) {
    const std::uint8_t width = source_.type(i.results[0]).width;
    const Values parts = split(i, width);
    if (parts.empty()) return copy(i);
    Values loaded;
    for (std::uint32_t k = 0; k < width; ++k) {
      const Value operands[] = {parts[k], mask(i, 1, k)};
      loaded.push_back(emit_like(out_, source_, i, {operands, operands[1].valid() ? 2u : 1u}, 1));
    }
    map(i.results[0], out_.construct(loaded));
  }

  void store(const Instruction& i) {
    const std::uint8_t width = source_.type(i.operands[1]).width;
    const Values parts = split(i, width);
    if (parts.empty()) return copy(i);
    for (std::uint32_t k = 0; k < width; ++k) {
      const Value value = out_.extract(mapped(i.operands[1]), k);
      const Value operands[] = {parts[k], value, mask(i, 2, k)};
      emit_like(out_, source_, i, {operands, operands[2].valid() ? 3u : 2u}, 1);
    }
  }

  Value mask(const Instruction& i, std::size_t position, std::uint32_t component) {
    if (i.operands.size() <= position) return {};
    const Value whole = mapped(i.operands[position]);
    return out_.type(whole).width == 1 ? whole : out_.extract(whole, component);
  }

  /// The index of each component when the access is to be split, else nothing.
  Values split(const Instruction& i, std::uint8_t width) {
    Values parts;
    if (!is_split(source_, facts_, i, wide_access_)) return parts;
    const Value index = i.operands[0];
    if (source_.type(index).width == 1) {
      for (std::uint32_t k = 0; k < width; ++k)
        parts.push_back(out_.add(mapped(index), out_.u32(k)));
      return parts;
    }
    for (const Offset& at : split_components(source_, definitions_, index)) {
      const Value offset = out_.u32(at.offset);
      parts.push_back(at.root.valid() ? out_.add(mapped(at.root), offset) : offset);
    }
    return parts;
  }

  const AffineFacts& facts_;
  std::vector<const Instruction*> definitions_;
  bool wide_access_;
};

/// Aligned elements that are loaded or stored in one.
struct Block {
  std::uint32_t buffer = 0;
  std::array<const Instruction*, block> members{};
  const Instruction* last = nullptr;
  Value loaded;         // once it is
  bool within = false;  // a wide load has all of it

  std::ptrdiff_t known() const {
    return std::count_if(members.begin(), members.end(), [](auto* m) { return m != nullptr; });
  }
  bool full() const { return within || known() == std::ptrdiff_t{block}; }
};

/// Which accesses of one region fill, or are parts of, a block.
struct Blocks {
  std::vector<Block> all;
  /// Number of the block, and which of its elements.
  std::unordered_map<const Instruction*, std::pair<std::size_t, std::uint32_t>> loads;
  std::unordered_map<const Instruction*, std::vector<std::size_t>> wide_loads;
  std::unordered_map<const Instruction*, std::size_t> stores;
};

class Planner {
 public:
  Planner(const Kernel& kernel, const AffineFacts& facts)
      : kernel_(kernel), facts_(facts), definitions_(definitions(kernel)) {
    plan(kernel.body);
  }

  Blocks blocks() && { return std::move(blocks_); }

 private:
  /// Buffer, the index but for its constant, offset of the block from that.
  using Key = std::tuple<std::uint64_t, Linear::Terms, std::uint32_t>;

  struct Scalar {
    Key key;
    std::uint32_t component = 0;
  };

  /// The block an unmasked scalar access of `value`s belongs to, if it is known to be aligned.
  std::optional<Scalar> scalar_access(const Instruction& i, Value value,
                                      std::size_t operands) const {
    if (i.operands.size() != operands || kernel_.type(value).width != 1 ||
        size_of(kernel_.type(value).scalar) != 4) {
      return std::nullopt;
    }
    return place(i);
  }

  std::optional<Scalar> place(const Instruction& i) const {
    const Linear at = linear(definitions_, i.operands[0]);
    for (const auto& [term, times] : at.terms)
      if (facts_[term].alignment_everywhere() + std::countr_zero(times) < block_alignment)
        return std::nullopt;
    return Scalar{{i.immediate, at.terms, at.offset / block * block}, at.offset % block};
  }

  /// The blocks that a wide load is made of; none where it is not.
  std::vector<Key> blocks_of(const Instruction& i) const {
    std::vector<Key> keys;
    const Type t = kernel_.type(i.results[0]);
    if (i.operands.size() > 1 || t.width < block || t.width % block != 0 ||
        size_of(t.scalar) != 4 || kernel_.type(i.operands[0]).width > 1)
      return keys;
    const auto at = place(i);
    if (!at || at->component != 0) return keys;
    for (std::uint32_t p = 0; p < t.width / block; ++p) {
      keys.push_back(at->key);
      std::get<2>(keys.back()) += p * block;
    }
    return keys;
  }

  static Block block_of(const Key& key) {
    Block b;
    b.buffer = static_cast<std::uint32_t>(std::get<0>(key));
    return b;
  }

  void plan(const Region& region) {
    plan_loads(region);
    plan_stores(region);
    for (const Instruction& i : region.body) {
      for (const Region& r : i.regions) plan(r);
    }
  }

  void plan_loads(const Region& region) {
    std::map<Key, Block> found;
    std::vector<std::pair<const Instruction*, Scalar>> members;
    for (const Instruction& i : region.body) {
      if (i.op != Op::load || kernel_.buffers[i.immediate].access != Access::read) continue;
      const auto at = scalar_access(i, i.results[0], 1);
      if (!at) continue;
      found.try_emplace(at->key, block_of(at->key)).first->second.members[at->component] = &i;
      members.emplace_back(&i, *at);
    }
    std::vector<std::pair<const Instruction*, std::vector<Key>>> wide;
    for (const Instruction& i : region.body) {
      if (i.op != Op::load || kernel_.buffers[i.immediate].access != Access::read) continue;
      std::vector<Key> keys = blocks_of(i);
      bool shared = false;
      for (const Key& key : keys)
        if (const auto b = found.find(key); b != found.end()) shared = b->second.within = true;
      if (shared) wide.emplace_back(&i, std::move(keys));
    }
    std::map<Key, std::size_t> numbers;
    const auto number_of = [&](const Key& key, const Block& b) {
      const auto [number, added] = numbers.try_emplace(key, blocks_.all.size());
      if (added) blocks_.all.push_back(b);
      return number->second;
    };
    for (const auto& [instruction, at] : members) {
      const Block& b = found.at(at.key);
      // A texel is fetched whole for any one of its elements. Single numbers stay as they are.
      const bool texel =
          kernel_.buffers[b.buffer].texel && (!std::get<1>(at.key).empty() || b.known() > 1);
      if (!b.full() && !texel) continue;
      blocks_.loads.emplace(instruction, std::make_pair(number_of(at.key, b), at.component));
    }
    for (const auto& [instruction, keys] : wide)
      for (const Key& key : keys) {
        Block b = block_of(key);
        if (const auto known = found.find(key); known != found.end()) b = known->second;
        b.within = true;
        blocks_.wide_loads[instruction].push_back(number_of(key, b));
      }
  }

  /// A block is stored where its last member was. What lies between its members is other stores
  /// only, and none of those may touch the same buffer at another root, whose elements could be the
  /// same ones.
  void plan_stores(const Region& region) {
    std::map<Key, Block> open;
    const auto close = [&](auto&& these) {
      for (auto it = open.begin(); it != open.end();) {
        it = these(it->first) ? open.erase(it) : std::next(it);
      }
    };
    for (const Instruction& i : region.body) {
      if (!has_effects(i) || space(i.op) == Space::private_array) continue;
      if (i.op != Op::store) {
        open.clear();
        continue;
      }
      const auto at = scalar_access(i, i.operands[1], 2);
      close([&](const Key& k) {
        return std::get<0>(k) == i.immediate && (!at || std::get<1>(k) != std::get<1>(at->key));
      });
      if (!at) continue;
      Block& b = open.try_emplace(at->key, block_of(at->key)).first->second;
      if (b.members[at->component] != nullptr) b = block_of(at->key);
      b.members[at->component] = &i;
      b.last = &i;
      if (!b.full()) continue;
      for (const Instruction* member : b.members)
        blocks_.stores.emplace(member, blocks_.all.size());
      blocks_.all.push_back(b);
      open.erase(at->key);
    }
  }

  const Kernel& kernel_;
  const AffineFacts& facts_;
  std::vector<const Instruction*> definitions_;
  Blocks blocks_;
};

/// Merges accesses that fill blocks.
class Merger : public Rewriter {
 public:
  Merger(const Kernel& source, Builder& out, Blocks blocks)
      : Rewriter(source, out), blocks_(std::move(blocks)) {}

 protected:
  void visit(const Instruction& i) override {
    if (!is_access(i)) return copy(i);
    if (const auto load = blocks_.loads.find(&i); load != blocks_.loads.end()) {
      map(i.results[0],
          out_.extract(loaded(load->second.first, i, load->second.second), load->second.second));
    } else if (const auto wide = blocks_.wide_loads.find(&i); wide != blocks_.wide_loads.end()) {
      Values parts;
      for (std::uint32_t p = 0; p < wide->second.size(); ++p) {
        const Value whole = loaded(wide->second[p], i, 0, p * block);
        for (std::uint32_t k = 0; k < block; ++k) parts.push_back(out_.extract(whole, k));
      }
      map(i.results[0], out_.construct(parts));
    } else if (const auto store = blocks_.stores.find(&i); store != blocks_.stores.end()) {
      const Block& b = blocks_.all[store->second];
      if (b.last != &i) return;
      Values parts;
      for (const Instruction* member : b.members) parts.push_back(mapped(member->operands[1]));
      const auto component = std::find(b.members.begin(), b.members.end(), &i) - b.members.begin();
      out_.store(b.buffer, index(i, static_cast<std::uint32_t>(component)), out_.construct(parts));
    } else {
      copy(i);
    }
  }

 private:
  /// Where the block begins of which an access is a component. An element that is loaded twice is
  /// among the members once.
  Value index(const Instruction& access, std::uint32_t component) {
    return out_.sub(mapped(access.operands[0]), out_.u32(component));
  }

  /// Block number `number`, of which `access` reads component `component` + `part` of what it
  /// reads.
  Value loaded(std::size_t number, const Instruction& access, std::uint32_t component,
               std::uint32_t part = 0) {
    Block& b = blocks_.all[number];
    if (b.loaded.valid()) return b.loaded;
    Value mask;
    if (!b.full()) {
      Values read;
      for (const Instruction* m : b.members) read.push_back(out_.boolean(m != nullptr));
      mask = out_.construct(read);
    }
    const Value at = out_.add(index(access, component), out_.u32(part));
    return b.loaded = out_.load(b.buffer, at, block, mask);
  }

  Blocks blocks_;
};

/// Whether a term means the number it is. One that stands for a negative number modulo 2^32 would
/// add up to the right index, but not to the right quarter of it.
bool natural(const std::vector<const Instruction*>& definitions, Value v) {
  const Instruction* i = definitions[v.index];
  if (i == nullptr) return true;  // what loops over positions count
  if (form(i->op) == Form::position) return true;
  switch (i->op) {
    case Op::band:
    case Op::shr:
    case Op::rem:
    case Op::div:
      return true;
    case Op::minimum:
      return natural(definitions, i->operands[0]) || natural(definitions, i->operands[1]);
    default:
      return false;
  }
}

/// The index of a wide access as a sum of whole blocks, if it is one.
std::optional<Linear> in_blocks(const Kernel& k, const std::vector<const Instruction*>& definitions,
                                const Instruction& access) {
  const Type t = accessed(k, access);
  if (t.width < block || size_of(t.scalar) != 4 || k.type(access.operands[0]).width != 1)
    return std::nullopt;
  Linear at = linear(definitions, access.operands[0]);
  bool whole = at.offset % block == 0 && !at.terms.empty();
  for (const auto& [term, times] : at.terms)
    whole = whole && times % block == 0 && natural(definitions, term);
  return whole ? std::optional(std::move(at)) : std::nullopt;
}

/// Writes the indices of wide accesses as 4 * q, with what a loop does not change added up first:
/// the emitter counts in units of 16 bytes, and simplify moves the rest out of the loop.
class Quarters : public Rewriter {
 public:
  using Definitions = std::vector<const Instruction*>;
  Quarters(const Kernel& source, Builder& out, const Definitions& definitions)
      : Rewriter(source, out), definitions_(definitions) {}

 protected:
  void visit(const Instruction& i) override {
    std::optional<Linear> at;
    if (is_access(i)) at = in_blocks(source_, definitions_, i);
    if (!at) return copy(i);
    SmallVector<Value, 4> operands = i.operands;
    for (Value& v : operands) v = mapped(v);
    operands[0] = out_.mul(quarter(std::move(*at)), out_.u32(block));
    const Value result = emit_like(out_, source_, i, operands, accessed(source_, i).width);
    if (i.op == Op::load) map(i.results[0], result);
  }

 private:
  static Value signed_quarter(Builder& out, std::uint32_t x) {
    const std::int32_t q = static_cast<std::int32_t>(x) / static_cast<std::int32_t>(block);
    return out.u32(static_cast<std::uint32_t>(q));
  }

  Value quarter(Linear at) {
    const auto depth = [&](Value v) { return out_.depth_of(mapped(v)); };
    std::stable_sort(at.terms.begin(), at.terms.end(),
                     [&](const auto& a, const auto& b) { return depth(a.value) < depth(b.value); });
    Value sum = signed_quarter(out_, at.offset);
    for (const auto& t : at.terms)
      out_.at_depth(depth(t.value), [&] {
        sum = out_.add(sum, out_.mul(mapped(t.value), signed_quarter(out_, t.times)));
      });
    return sum;
  }

  const Definitions& definitions_;
};

template <class Pass, class... Rest>
Kernel rebuild(const Kernel& source, Rest&&... rest) {
  Builder out(source.name);
  copy_header(source, out);
  Pass(source, out, std::forward<Rest>(rest)...).Rewriter::copy(source.body);
  return out.take();
}

}  // namespace

Kernel vectorize(Kernel kernel, VectorizeOptions options) {
  GNOMON_CHECK(kernel.lanes == 0, "`" + kernel.name + "` is in lane form");
  for (Buffer& b : kernel.buffers) {
    b.texel =
        options.texel_reads && b.access == Access::read && !b.coherent && size_of(b.dtype) == 4;
  }
  // Most kernels need not all three.
  AffineFacts facts = analyse(kernel, {Op::invocation, 1});
  if (any_access(kernel.body, [&](const Instruction& i) {
        return is_split(kernel, facts, i, options.wide_access);
      })) {
    Builder out(kernel.name);
    copy_header(kernel, out);
    Splitter splitter(kernel, out, facts, options.wide_access);
    splitter.Rewriter::copy(kernel.body);
    facts = splitter.facts();
    kernel = out.take();
  }
  if (!options.wide_access) return kernel;
  if (Blocks blocks = Planner(kernel, facts).blocks(); !blocks.all.empty())
    kernel = rebuild<Merger>(kernel, std::move(blocks));
  const std::vector<const Instruction*> made = definitions(kernel);
  const auto counted = [&](const Instruction& i) { return in_blocks(kernel, made, i).has_value(); };
  if (any_access(kernel.body, counted)) return rebuild<Quarters>(kernel, made);
  return kernel;
}

}  // namespace gnomon::kernel
