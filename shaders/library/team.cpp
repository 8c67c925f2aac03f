// shaders/library/team.cpp -- a strided walk for every member, then the join.
#include "shaders/library/team.h"

#include <bit>

#include "shaders/support/check.h"

namespace gnomon::kernel {
namespace {

constexpr std::uint64_t unroll = 4;  // positions a trip takes: loads that are under way together

/// As for_members, with values that trips carry along.
Values walk(Builder& k, const Team& team, std::uint64_t count, const Values& init,
            const std::function<Values(const Values& positions, Value exists, Values carried)>& f) {
  const std::uint64_t stride = std::uint64_t{team.size} * unroll;
  const std::uint64_t whole = count / stride * stride;
  const auto u32 = [&](std::uint64_t n) { return k.u32(static_cast<std::uint32_t>(n)); };
  Values state{k.u32(0)};
  state.insert(state.end(), init.begin(), init.end());
  const auto range = [&](std::uint64_t end, std::uint64_t step, std::uint64_t trips, auto&& part) {
    state = k.loop(
        state, trips, [&](std::span<const Value> c) { return k.compare(Op::lt, c[0], u32(end)); },
        [&](std::span<const Value> c) {
          Values next = part(k.add(c[0], team.member), Values(c.begin() + 1, c.end()));
          next.insert(next.begin(), k.add(c[0], u32(step)));
          return next;
        });
  };
  const auto several = [&](Value n, Values carried) {
    Values positions;
    for (std::uint64_t u = 0; u < unroll; ++u) positions.push_back(k.add(n, u32(u * team.size)));
    return f(positions, {}, std::move(carried));
  };
  // Positions beyond the end are the last one: what a branch guards may be computed in front of it.
  const auto last = [&](Value n, Values carried) {
    if (count % team.size == 0) return f({n}, {}, std::move(carried));
    const Value exists = k.compare(Op::lt, n, u32(count));
    return f({k.binary(Op::minimum, n, u32(count - 1))}, exists, std::move(carried));
  };
  if (whole > 0) range(whole, stride, whole / stride, several);
  if (whole < count) range(count, team.size, (count - whole + team.size - 1) / team.size, last);
  return {state.begin() + 1, state.end()};
}

/// What a member's own positions come to.
Values own_part(Builder& k, const Team& team, const Fold& f) {
  return walk(k, team, f.count, f.identity,
              [&](const Values& positions, Value exists, Values carried) {
                for (const Value n : positions) {
                  Values next = f.body(n, carried);
                  if (exists.valid())
                    for (std::size_t i = 0; i < next.size(); ++i)
                      next[i] = k.select(exists, next[i], carried[i]);
                  carried = std::move(next);
                }
                return carried;
              });
}

struct Slots {
  std::vector<std::uint32_t> arrays;

  Slots(Builder& k, const Values& like, std::uint32_t length) {
    for (Value v : like) arrays.push_back(k.shared_array({k.type(v).scalar, length}));
  }
  void put(Builder& k, Value at, const Values& x) const {
    for (std::size_t i = 0; i < arrays.size(); ++i) k.shared_store(arrays[i], at, x[i]);
  }
  Values get(Builder& k, Value at) const {
    Values r;
    for (std::uint32_t a : arrays) r.push_back(k.shared_load(a, at));
    return r;
  }
};

Values by_tree(Builder& k, const Team& team, const Fold& f, const Values& mine) {
  const Value here = k.source(Op::local_index);
  const Slots slots(k, mine, team.group);
  slots.put(k, here, mine);
  for (std::uint32_t half = team.size / 2; half > 0; half /= 2) {
    k.barrier();
    k.if_(
        k.compare(Op::lt, team.member, k.u32(half)),
        [&] {
          slots.put(k, here, f.join(slots.get(k, here), slots.get(k, k.add(here, k.u32(half)))));
          return Values{};
        },
        [] { return Values{}; });
  }
  k.barrier();
  return slots.get(k, k.sub(here, team.member));
}

Values by_subgroups(Builder& k, const Team& team, const Fold& f, const Values& mine) {
  const Values part{k.subgroup(*f.over_subgroup, mine[0])};
  const Slots slots(k, mine, team.group);  // a subgroup has one invocation at least
  k.if_(
      k.subgroup(Op::subgroup_first),
      [&] {
        slots.put(k, k.subgroup(Op::subgroup_index), part);
        return Values{};
      },
      [] { return Values{}; });
  k.barrier();
  return k.count_loop(k.subgroup(Op::subgroup_count), team.group, f.identity,
                      [&](Value s, std::span<const Value> c) {
                        return f.join({c.begin(), c.end()}, slots.get(k, s));
                      });
}

}  // namespace

Team Team::of(Builder& k, std::uint32_t size, std::uint32_t group, bool subgroups) {
  GNOMON_CHECK(std::has_single_bit(size) && std::has_single_bit(group) && size <= group,
               "a team of " + std::to_string(size) + " in a workgroup of " + std::to_string(group));
  const Value local = k.source(Op::local_index);
  const Value member = size == group ? local : k.rem(local, k.u32(size));
  return {size, group, subgroups && size == group, member};
}

Value Team::number(Builder& k) const {
  const Value group_index = k.source(Op::group_index);
  if (size == group) return group_index;
  return k.add(k.mul(group_index, k.u32(group / size)),
               k.div(k.source(Op::local_index), k.u32(size)));
}

void for_members(Builder& k, const Team& team, std::uint64_t count,
                 const std::function<void(const Values& positions, Value exists)>& body) {
  walk(k, team, count, {}, [&](const Values& positions, Value exists, Values carried) {
    body(positions, exists);
    return carried;
  });
}

Values fold(Builder& k, const Team& team, const Fold& f) {
  const Values mine = own_part(k, team, f);
  if (team.size == 1) return mine;
  const bool fits = f.over_subgroup && mine.size() == 1 && bits_of(k.type(mine[0]).scalar) == 32;
  return team.subgroups && fits ? by_subgroups(k, team, f, mine) : by_tree(k, team, f, mine);
}

}  // namespace gnomon::kernel
