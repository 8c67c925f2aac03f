// tests/shaders/library_test.cpp -- what workgroups do together: results, texts and modules, and
// that no barrier is there for nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "shaders/interpret/interpret.h"
#include "shaders/kernel/text.h"
#include "shaders/kernel/verify.h"
#include "shaders/library/panels.h"
#include "shaders/library/team.h"
#include "shaders/library/transpose.h"
#include "shaders/spirv/emit.h"
#include "shaders/spirv/tools.h"
#include "shaders/support/check.h"

namespace gnomon::kernel {
namespace {

using Numbers = std::vector<std::int32_t>;

/// Buffers 0 (read) and 1 (written) of whole numbers.
Numbers run(const Kernel& k, std::uint32_t groups, Numbers in, std::size_t out) {
  Numbers result(out, -1);
  std::vector<std::span<std::byte>> views{std::as_writable_bytes(std::span(in)),
                                          std::as_writable_bytes(std::span(result))};
  const std::vector<std::uint32_t> parameters{0, groups, 0, 0, 0, 0};
  interpret(k, groups, parameters, views);
  return result;
}

std::string complaint(const Kernel& k, std::uint32_t groups, const Numbers& in, std::size_t out) {
  try {
    run(k, groups, in, out);
  } catch (const InternalError& e) {
    return e.what();
  }
  return "";
}

std::size_t barriers(const Region& r) {
  std::size_t n = 0;
  for (const Instruction& i : r.body) {
    n += i.op == Op::barrier;
    for (const Region& inner : i.regions) n += barriers(inner);
  }
  return n;
}

/// Takes out barrier number `which`.
void remove_barrier(Region& r, std::size_t& which) {
  for (auto i = r.body.begin(); i != r.body.end(); ++i) {
    if (i->op == Op::barrier && which-- == 0) {
      r.body.erase(i);
      return;
    }
    for (Region& inner : i->regions) remove_barrier(inner, which);
  }
}

/// The kernel is sound: text and module survive, and without any one of its barriers there is a
/// race.
void expect_sound(const Kernel& k, std::uint32_t groups, const Numbers& in, std::size_t out) {
  verify(k);
  EXPECT_EQ(print(parse_kernel(print(k))), print(k));
  spirv::Features features;
  features.subgroup_basic = features.subgroup_arithmetic = true;
  const auto words = spirv::emit(k, {.features = features});
  EXPECT_EQ(spirv::validate(words).value_or(""), "") << print(k);
  const std::size_t n = barriers(k.body);
  EXPECT_GT(n, 0u);
  for (std::size_t b = 0; b < n; ++b) {
    Kernel broken = k;
    std::size_t which = b;
    remove_barrier(broken.body, which);
    EXPECT_NE(complaint(broken, groups, in, out).find("without a barrier between them"),
              std::string::npos)
        << "barrier " << b << " of\n"
        << print(k);
  }
}

/// Sums of `n` numbers each for `rows` rows.
Kernel row_sums(std::uint32_t n, std::uint32_t rows, std::uint32_t size, std::uint32_t group,
                bool subgroups, bool extremum = false) {
  Builder k("sums");
  k.kernel().group_size = group;
  const auto in = k.buffer({DType::i32, Access::read, false, false, "x"});
  const auto out = k.buffer({DType::i32, Access::write, false, false, "y"});
  const Team team = Team::of(k, size, group, subgroups);
  const Value row = k.binary(Op::minimum, team.number(k), k.u32(rows - 1));
  const Op op = extremum ? Op::maximum : Op::add;
  const auto join = [&](const Values& a, const Values& b) {
    return Values{k.binary(op, a[0], b[0])};
  };
  const auto body = [&](Value i, const Values& c) {
    return join(c, {k.load(in, k.add(k.mul(row, k.u32(n)), i))});
  };
  const Values sum = fold(k, team,
                          {n,
                           {k.i32(extremum ? std::numeric_limits<std::int32_t>::min() : 0)},
                           body,
                           join,
                           extremum ? Op::subgroup_max : Op::subgroup_add});
  k.if_(
      k.compare(Op::eq, team.member, k.u32(0)),
      [&] {
        k.store(out, row, sum[0]);
        return Values{};
      },
      [] { return Values{}; });
  return k.take();
}

TEST(Library, TeamsFoldRows) {
  for (const auto& [n, size, group] :
       {std::tuple{100u, 8u, 8u}, {3u, 8u, 16u}, {64u, 4u, 16u}, {257u, 16u, 16u}, {40u, 2u, 2u}})
    for (const bool subgroups : {false, true})
      for (const bool extremum : {false, true}) {
        const std::uint32_t rows = 5, groups = (rows * size + group - 1) / group;
        Numbers x(n * rows);
        std::iota(x.begin(), x.end(), -17);
        Numbers want;
        for (std::uint32_t r = 0; r < rows; ++r) {
          const auto first = x.begin() + r * n;
          want.push_back(extremum ? *std::max_element(first, first + n)
                                  : std::accumulate(first, first + n, 0));
        }
        const Kernel k = row_sums(n, rows, size, group, subgroups, extremum);
        EXPECT_EQ(run(k, groups, x, rows), want) << print(k);
        expect_sound(k, groups, x, rows);
      }
}

/// A block of a product of whole numbers, and that none of its barriers can be left out.
void expect_product(const Panels& p, std::uint32_t length, bool along) {
  const std::uint32_t m = p.block_rows(), n = p.block_columns();
  Builder k("product");
  k.kernel().group_size = p.group();
  const auto in = k.buffer({DType::i32, Access::read, false, false, "x"});
  const auto out = k.buffer({DType::i32, Access::write, false, false, "y"});
  const auto side = [&](std::uint32_t first) {
    return PanelSide{[&k, in, first, length](Value which, Value i) {
                       return k.load(in,
                                     k.add(k.add(k.mul(which, k.u32(length)), i), k.u32(first)));
                     },
                     along};
  };
  const Values sums = multiply(k, p, length, DType::i32, side(0), side(m * length));
  const Values rows = p.own_rows(k), columns = p.own_columns(k);
  for (std::size_t i = 0; i < sums.size(); ++i)
    k.store(out, k.add(k.mul(rows[i / p.columns], k.u32(n)), columns[i % p.columns]), sums[i]);
  const Kernel kernel = k.take();
  Numbers x((m + n) * length), want;
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int32_t>(i * i % 97) - 40;
  for (std::uint32_t r = 0; r < m; ++r)
    for (std::uint32_t c = 0; c < n; ++c)
      want.push_back(std::inner_product(x.begin() + r * length, x.begin() + (r + 1) * length,
                                        x.begin() + (m + c) * length, 0));
  EXPECT_EQ(run(kernel, 1, x, m * n), want) << print(kernel);
  expect_sound(kernel, 1, x, m * n);
}

TEST(Library, PanelsMultiplyABlock) {
  constexpr Panels blocks[] = {{.down = 2, .across = 4, .rows = 3, .columns = 2, .depth = 8},
                               {.down = 2, .across = 4, .rows = 4, .columns = 4, .depth = 8},
                               {.down = 1, .across = 2, .rows = 1, .columns = 8, .depth = 4}};
  for (const Panels& p : blocks)
    for (const std::uint32_t length : {8u, 16u, 21u, 3u, 32u})
      for (const bool along : {false, true}) expect_product(p, length, along);
}

TEST(Library, SquaresAreTransposed) {
  for (const std::uint32_t group : {2u, 8u, 64u}) {
    const Square q = Square::of(group);
    Builder k("transpose");
    k.kernel().group_size = group;
    const auto in = k.buffer({DType::i32, Access::read, false, false, "x"});
    const auto out = k.buffer({DType::i32, Access::write, false, false, "y"});
    const auto at = [&](Value row, Value column) {
      return k.add(k.mul(row, k.u32(q.side)), column);
    };
    const auto transposed =
        transpose(k, q, {[&](Value slow, Value fast) { return k.load(in, at(slow, fast)); }});
    for (std::uint32_t i = 0; i < q.places(); ++i)
      k.store(out, at(q.slow(k, i), q.fast(k)), transposed[0](i));
    const Kernel kernel = k.take();
    Numbers x(q.side * q.side), want(x.size());
    std::iota(x.begin(), x.end(), 0);
    for (std::uint32_t r = 0; r < q.side; ++r)
      for (std::uint32_t c = 0; c < q.side; ++c) want[r * q.side + c] = x[c * q.side + r];
    EXPECT_EQ(run(kernel, 1, x, x.size()), want);
    expect_sound(kernel, 1, x, x.size());
  }
}

TEST(Library, SubgroupsOnlyWhereTheyAreOffered) {
  const Kernel with = row_sums(64, 2, 16, 16, true), without = row_sums(64, 2, 16, 16, false);
  EXPECT_NO_THROW(spirv::emit(without, {}));
  EXPECT_THROW(spirv::emit(with, {}), InternalError);
}

}  // namespace
}  // namespace gnomon::kernel
