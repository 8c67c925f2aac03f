// codegen/partition/fusion_groups.cpp -- groups roots that share loops, positions or a dispatch.
#include "codegen/partition/fusion_groups.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <tuple>
#include <type_traits>

#include "codegen/base/lists.h"
#include "codegen/cost/device_model.h"
#include "codegen/cost/work.h"
#include "codegen/emit/mapping.h"
#include "codegen/emit/pieces.h"
#include "codegen/graph/primitive.h"
#include "codegen/operations/table.h"
#include "codegen/partition/cut_long.h"

namespace gnomon {

void FusionGroups::set(const std::vector<ValueId>& roots) {
  for (ValueId v : roots) {
    if (group_of_.size() <= v) group_of_.resize(v + 1, alone);
    group_of_[v] = static_cast<std::uint32_t>(groups_.size());
  }
  groups_.push_back(roots);
}

namespace {

bool is_marked(const FusionGroups::Marks& marks, ValueId v) {
  return v < marks.size() && marks[v] != 0;
}

/// False where it was marked already.
bool mark(FusionGroups::Marks& marks, ValueId v) {
  if (is_marked(marks, v)) return false;
  if (marks.size() <= v) marks.resize(v + 1);
  marks[v] = 1;
  return true;
}

}  // namespace

// Roots are many, and so are groups: each value and each group is gone over once.
FusionGroups::Marks FusionGroups::behind(const BackwardSlices& slices, const IndexSet& from,
                                         const std::vector<ValueId>& until) const {
  Marks seen(group_of_.size()), expanded(groups_.size());
  std::vector<ValueId> open;
  bool done = false;
  const auto reach = [&](const IndexSet& values) {
    for (ValueId v : values) {
      if (!mark(seen, v)) continue;
      open.push_back(v);
      done = done || contains(until, v);
    }
  };
  reach(from);
  while (!open.empty() && !done) {
    const std::uint32_t group = group_of(open.back());
    open.pop_back();
    if (group == alone || !mark(expanded, group)) continue;
    for (ValueId mate : groups_[group]) reach(slices.at(mate).memory);
  }
  return seen;
}

FusionGroups::Marks FusionGroups::waiting_for(ValueId v, const Readers& readers) const {
  Marks waiting, expanded;
  std::vector<ValueId> open{v};
  while (!open.empty()) {
    const ValueId read = open.back();
    open.pop_back();
    for (ValueId reader : readers[read]) {
      const std::uint32_t group = group_of(reader);
      if (group == alone || !mark(expanded, group)) continue;
      for (ValueId mate : groups_[group])
        if (mark(waiting, mate)) open.push_back(mate);
    }
  }
  return waiting;
}

bool FusionGroups::depends_on(const BackwardSlices& slices, const IndexSet& from,
                              const std::vector<ValueId>& targets) const {
  const Marks seen = behind(slices, from, targets);
  return std::any_of(targets.begin(), targets.end(), [&](ValueId v) { return is_marked(seen, v); });
}

std::map<ValueId, std::vector<ValueId>> group_by_loops(const std::vector<ValueId>& roots,
                                                       const BackwardSlices& slices) {
  std::map<ValueId, ValueId> leader;
  for (ValueId v : roots) leader[v] = v;
  const std::function<ValueId(ValueId)> find = [&](ValueId v) {
    return leader[v] == v ? v : leader[v] = find(leader[v]);
  };
  std::map<std::uint32_t, ValueId> first_of_loop;
  for (ValueId v : roots)
    for (std::uint32_t l : slices.at(v).loops) {
      auto [it, fresh] = first_of_loop.try_emplace(l, v);
      if (!fresh) leader[find(v)] = find(it->second);
    }
  std::map<ValueId, std::vector<ValueId>> groups;
  for (ValueId v : roots) groups[find(v)].push_back(v);
  return groups;
}

namespace {

/// Whether `v` is a large product, or follows from one, and its kernel has tiles.
bool in_tiles(const Placement& place, const BackwardSlices& slices, ValueId v) {
  const auto& equations = slices.at(v).equations;
  return std::any_of(equations.begin(), equations.end(), [&](std::uint32_t i) {
    const Equation& e = place.graph.equations[i];
    return e.primitive == &dot_general_p && large_product(place.graph, e);
  });
}

/// Whether `v` reads arrays as large as itself that are not of the group.
bool reads_more(const Placement& place, const BackwardSlices& slices, ValueId v,
                const std::vector<ValueId>& group) {
  const auto& memory = slices.at(v).memory;
  return std::any_of(memory.begin(), memory.end(), [&](ValueId m) {
    return place.graph.avals[m].shape.size() == place.graph.avals[v].shape.size() &&
           std::find(group.begin(), group.end(), m) == group.end();
  });
}

/// Whether `v` and one of the group read the same array, of `shape` as what they compute, element
/// by element: one kernel loads it once. Moments of a gradient, say.
bool shares_operand(const Placement& place, const BackwardSlices& slices, ValueId v,
                    const Shape& shape, const std::vector<ValueId>& group) {
  constexpr std::size_t most_arrays = 12;  // streams that a CPU's caches still follow
  const auto as_large = [&](ValueId m) { return place.graph.avals[m].shape == shape; };
  const IndexSet& read = slices.at(v).memory;
  const auto shared_with = [&](ValueId r) {
    const IndexSet& others = slices.at(r).memory;
    return std::any_of(read.begin(), read.end(),
                       [&](ValueId m) { return as_large(m) && others.contains(m); });
  };
  if (std::none_of(group.begin(), group.end(), shared_with)) return false;
  std::set<ValueId> arrays(group.begin(), group.end());
  arrays.insert(v);
  const auto insert = [&](const IndexSet& values) {
    std::copy_if(values.begin(), values.end(), std::inserter(arrays, arrays.end()), as_large);
  };
  insert(read);
  for (ValueId r : group) insert(slices.at(r).memory);
  return arrays.size() <= most_arrays && streams(place, v) &&
         std::all_of(group.begin(), group.end(), [&](ValueId r) { return streams(place, r); });
}

/// Rows that one kernel writes into histories, at most: a device binds so many buffers.
constexpr std::size_t most_updates = 8;
/// Elements of an array whose kernel costs more to start than to run, and how many of them share
/// one.
constexpr Dim small_array = 4096;
constexpr std::size_t most_small = 8;

/// Groups of roots, to which each root is added in turn: to the first that it belongs to.
class ElementGroups {
 public:
  ElementGroups(const Roots& known, FusionGroups& fusion_groups)
      : place_(known.place),
        g_(known.place.graph),
        target_(known.target),
        updates_(known.updates),
        slices_(known.slices),
        readers_(known.readers),
        longest_(known.longest),
        fusion_groups_(fusion_groups) {}

  void add(ValueId v) {
    const auto found = updates_.contains(v) ? group_of_update(v) : group_of_elements(v);
    if (!found) groups_.emplace_back();
    const std::size_t at = found.value_or(groups_.size() - 1);
    groups_[at].push_back(v);
    if (found) fusion_groups_.set(groups_[at]);
    index(v, at);
    if (found) merge_into(at, v);
  }

  std::vector<std::vector<ValueId>> take() {
    std::erase_if(groups_, [](const Group& g) { return g.empty(); });
    return std::move(groups_);
  }

 private:
  using Group = std::vector<ValueId>;

  const IndexSet& reads(ValueId v) const { return slices_.at(v).memory; }
  const Equation& equation(ValueId v) const { return g_.equations[place_.uses.producer[v]]; }
  bool by_element(ValueId v) const {
    return equation(v).primitive->lower.kind == Lowering::Kind::element;
  }
  std::optional<std::vector<Pieces>> pieces(const Group& roots) const {
    return pieces_of(place_, updates_.operands(), roots);
  }
  /// The shape that `v` alone has a lane for each element of.
  const Shape& lanes(ValueId v) const {
    return special(v) ? lanes_of(g_, (*pieces({v}))[0]) : g_.avals[v].shape;
  }
  /// Whether `v` is stored otherwise than element by element.
  bool special(ValueId v) const {
    return remembered(special_, v, [&] { return has_pieces(place_, updates_.operands(), v); });
  }
  bool in_streams(ValueId v) const {
    return remembered(in_streams_, v, [&] { return streams(place_, v); });
  }
  bool in_streams(const Group& group) const {
    return std::all_of(group.begin(), group.end(), [&](ValueId r) { return in_streams(r); });
  }
  /// As at_own_place() of pieces.h. The pieces of a root depend on its group in one respect alone:
  /// whether they are parts.
  bool at_own_place(const Pieces& p, ValueId target) const {
    return remembered(own_place_, {p.root, p.in_parts(), target},
                      [&] { return gnomon::at_own_place(place_, p, target); });
  }
  template <class Key, class F>
  static bool remembered(std::map<Key, bool>& known, const std::type_identity_t<Key>& key, F find) {
    const auto at = known.find(key);
    return at != known.end() ? at->second : known.emplace(key, find()).first->second;
  }
  bool is_small(ValueId v) const { return lanes(v).size() <= small_array; }

  // ---- rows of histories, which nobody reads before the loop is over

  std::optional<std::size_t> group_of_update(ValueId v) const {
    if (!only_written(v)) return std::nullopt;
    std::set<std::size_t> candidates = related(v);
    candidates.insert(with_updates_.begin(), with_updates_.end());
    for (const std::size_t i : candidates)
      if (joins_rows(v, groups_[i]) && may_unite(with(groups_[i], v))) return i;
    return std::nullopt;
  }

  /// Whether what the update overwrites is looked at for the sake of the update alone, and nobody
  /// looks at the result but the next iteration.
  bool only_written(ValueId to) const {
    const ValueId old = updates_.operands().at(to);
    std::ptrdiff_t own = 0;  // reads of what it overwrites
    for (std::uint32_t i : slices_.at(to).equations)
      own += std::count(g_.equations[i].inputs.begin(), g_.equations[i].inputs.end(), old);
    return own == place_.uses.count[old] && place_.uses.count[to] == 1 && contains(g_.outputs, to);
  }

  /// Whether it pays to write the row of `v` in the kernel of the group: with other rows of its
  /// shape, and where the elements are that it is computed from.
  bool joins_rows(ValueId v, const Group& group) const {
    const auto updates =
        std::count_if(group.begin(), group.end(), [&](ValueId r) { return updates_.contains(r); });
    if (static_cast<std::size_t>(updates) >= most_updates) return false;
    const auto all = pieces(with(group, v));
    if (!all || !fits(v, group)) return false;
    if (static_cast<std::size_t>(updates) == group.size()) return true;
    return shares_lanes(v, group, lanes_of(g_, all->back()));
  }

  /// Whether it pays to compute `v` with a group of other pieces, which are computed by one lane
  /// for each element of `shape`.
  bool shares_lanes(ValueId v, const Group& group, const Shape& shape) const {
    return in_streams(v) && in_streams(group) &&
           ((is_small(v) && group.size() < most_small) || uses_one_of(v, group) ||
            shares_operand(place_, slices_, v, shape, group));
  }

  // ---- what lanes have an element each of

  std::optional<std::size_t> group_of_elements(ValueId v) const {
    if (!by_element(v)) return std::nullopt;
    std::optional<Order> order;  // found out where it is asked for
    for (const std::size_t i : related(v)) {
      if (special(v) || of_pieces_.contains(i)) {
        if (joins_pieces(v, groups_[i])) return i;
        continue;
      }
      if (!joins(v, groups_[i])) continue;
      if (!order)
        order = {fusion_groups_.behind(slices_, reads(v)), fusion_groups_.waiting_for(v, readers_)};
      if (is_ready(v, groups_[i], *order)) return i;
    }
    return std::nullopt;
  }

  bool joins_pieces(ValueId v, const Group& group) const {
    const auto all = pieces(with(group, v));
    return all && fits(v, group) && shares_lanes(v, group, lanes_of(g_, all->back())) &&
           may_unite(with(group, v));
  }

  // ---- groups that turn out to be one

  /// Group `at`, which `v` has joined, takes in others that `v` is computed from element by element
  /// as well, or whose rows are written by lanes of its shape.
  void merge_into(std::size_t at, ValueId v) {
    if (!in_streams(v)) return;
    std::set<std::size_t> others = related(v);
    if (updates_.contains(v)) others.insert(with_updates_.begin(), with_updates_.end());
    for (const std::size_t i : others) {
      if (i == at || !merges(groups_[at], groups_[i], v)) continue;
      const Group added = std::move(groups_[i]);
      groups_[i].clear();
      with_updates_.erase(i);
      of_pieces_.erase(i);
      groups_[at].insert(groups_[at].end(), added.begin(), added.end());
      fusion_groups_.set(groups_[at]);
      for (ValueId r : added) index(r, at);
    }
  }

  bool merges(const Group& group, const Group& other, ValueId v) const {
    const auto is_update = [&](ValueId r) { return updates_.contains(r); };
    Group both = group;
    both.insert(both.end(), other.begin(), other.end());
    if (static_cast<std::size_t>(std::count_if(both.begin(), both.end(), is_update)) > most_updates)
      return false;
    if (!uses_one_of(v, other) &&
        !(is_update(v) && std::any_of(other.begin(), other.end(), is_update)))
      return false;
    return in_streams(both) && fits(v, both) && may_unite(both);
  }

  /// Whether one kernel may compute all of these: nothing that it reads waits for it, its lanes
  /// need nothing of one another, and see nothing that it overwrites.
  bool may_unite(const Group& roots) const {
    const auto all = pieces(roots);
    if (!all) return false;
    const IndexSet members(roots);
    std::vector<ValueId> others;
    for (const Pieces& p : *all)
      for (ValueId m : reads(p.root)) {
        if (!members.contains(m))
          others.push_back(m);
        else if (!at_own_place(p, m))
          return false;
      }
    for (ValueId v : roots) {
      if (!updates_.contains(v)) continue;
      if (!only_written(v)) return false;
      const ValueId old = updates_.operands().at(v);
      if (std::any_of(roots.begin(), roots.end(),
                      [&](ValueId r) { return r != v && reads(r).contains(old); }))
        return false;
    }
    return !fusion_groups_.depends_on(slices_, IndexSet(std::move(others)), roots);
  }

  static Group with(Group group, ValueId v) {
    group.push_back(v);
    return group;
  }

  /// Whether `v` is computed from one of the group, at every lane's own place.
  bool uses_one_of(ValueId v, const Group& group) const {
    const auto is_read = [&](ValueId r) { return reads(v).contains(r); };
    if (std::none_of(group.begin(), group.end(), is_read)) return false;
    const auto all = pieces(with(group, v));
    return all && std::any_of(group.begin(), group.end(), [&](ValueId r) {
             return is_read(r) && at_own_place(all->back(), r);
           });
  }

  /// The groups that have anything to do with `v`, in order: a model has hundreds of arrays, and
  /// looked at in pairs they would take seconds.
  std::set<std::size_t> related(ValueId v) const {
    std::set<std::size_t> all;
    const auto add = [&](const auto& known, auto key) {
      if (const auto at = known.find(key); at != known.end())
        for (const std::size_t i : at->second)
          if (!groups_[i].empty()) all.insert(i);
    };
    for (ValueId m : reads(v)) add(touching_, m);
    add(of_equation_, place_.uses.producer[v]);
    if (is_small(v)) add(small_, lanes(v).size());
    return all;
  }

  void index(ValueId v, std::size_t group) {
    if (!by_element(v)) return;
    if (updates_.contains(v)) with_updates_.insert(group);
    if (special(v)) of_pieces_.insert(group);
    touching_[v].insert(group);
    for (ValueId m : reads(v)) touching_[m].insert(group);
    if (groups_[group][0] == v) of_equation_[place_.uses.producer[v]].insert(group);
    if (!is_small(v)) return;
    std::set<std::size_t>& open = small_[lanes(v).size()];
    if (groups_[group].size() < most_small)
      open.insert(group);
    else
      open.erase(group);
  }

  /// Whether it pays to compute `v` together with the group.
  bool joins(ValueId v, const Group& group) const {
    if (g_.avals[group[0]].shape != g_.avals[v].shape) return false;
    const bool same_equation = place_.uses.producer[group[0]] == place_.uses.producer[v];
    // Neighbours that need nothing of each other go together where they are small. A GPU runs
    // them side by side as they are, and large products of few elements would only wait for one
    // another's operands, and keep them.
    const auto large = [&](ValueId r) {
      return !runs_on_cores(target_) && in_tiles(place_, slices_, r);
    };
    const bool small = is_small(v) && group.size() < most_small && !large(v) && !large(group[0]);
    const auto used = [&](ValueId r) { return reads(v).contains(r) && pointwise(place_, v, r); };
    if (!same_equation && !small && std::none_of(group.begin(), group.end(), used) &&
        !shares_operand(place_, slices_, v, g_.avals[v].shape, group))
      return false;
    if (!same_equation && !fits(v, group)) return false;
    return !runs_on_cores(target_) || small || same_equation ||
           !in_tiles(place_, slices_, group[0]) || !reads_more(place_, slices_, v, group);
  }

  /// Whether the kernel of both is not too long.
  bool fits(ValueId v, const Group& group) const {
    std::vector<std::uint32_t> all;
    for (ValueId r : with(group, v)) {
      const IndexSet& equations = slices_.at(r).equations;
      all.insert(all.end(), equations.begin(), equations.end());
    }
    return straight_instructions(g_, IndexSet(std::move(all))) <= longest_;
  }

  /// What has to be computed before a root, and after it.
  struct Order {
    FusionGroups::Marks before, after;
  };

  /// Whether everything else that `v` reads is there before the group is computed.
  bool is_ready(ValueId v, const Group& group, const Order& order) const {
    if (is_marked(order.after, group[0])) return false;
    std::vector<ValueId> others;
    for (ValueId m : reads(v)) {
      if (!contains(group, m))
        others.push_back(m);
      else if (!pointwise(place_, v, m))
        return false;
    }
    if (others.size() < reads(v).size())
      return !fusion_groups_.depends_on(slices_, IndexSet(std::move(others)), group);
    return std::none_of(group.begin(), group.end(),
                        [&](ValueId r) { return is_marked(order.before, r); });
  }

  const Placement& place_;
  const Graph& g_;
  const Target& target_;
  const Updates& updates_;
  const BackwardSlices& slices_;
  const FusionGroups::Readers& readers_;
  const double longest_;
  FusionGroups& fusion_groups_;
  std::vector<Group> groups_;
  // Which groups of elements write or read a value, begin with a result of an equation, take
  // another small array of a size.
  std::map<ValueId, std::set<std::size_t>> touching_;
  std::map<std::uint32_t, std::set<std::size_t>> of_equation_;
  std::map<Dim, std::set<std::size_t>> small_;
  std::set<std::size_t> with_updates_, of_pieces_;
  mutable std::map<ValueId, bool> special_, in_streams_;
  mutable std::map<std::tuple<ValueId, bool, ValueId>, bool> own_place_;  // root, in parts, target
};

}  // namespace

std::vector<std::vector<ValueId>> group_elements(const Roots& known, std::vector<ValueId> roots,
                                                 FusionGroups& fusion_groups) {
  const auto& producer = known.place.uses.producer;
  std::sort(roots.begin(), roots.end(),
            [&](ValueId a, ValueId b) { return producer[a] < producer[b]; });
  ElementGroups groups(known, fusion_groups);
  for (ValueId v : roots) groups.add(v);
  return groups.take();
}

}  // namespace gnomon
