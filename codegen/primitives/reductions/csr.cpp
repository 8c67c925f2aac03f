// codegen/primitives/reductions/csr.cpp -- table entries of products with matrices in compressed
// rows, and how they are computed.
#include "codegen/operations/csr.h"

#include <algorithm>

#include "codegen/base/lists.h"
#include "codegen/lax/lax.h"
#include "codegen/operations/cumulative.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/primitives/families.h"
#include "codegen/program/target.h"
#include "codegen/trace/trace.h"
#include "codegen/transforms/control_graphs.h"
#include "gnomon/control.h"
#include "gnomon/transform.h"

namespace gnomon {
namespace {

/// Entries of a row that a kernel sums in one go; of more the loop is one that is cut into slices.
constexpr Dim most_in_kernel = 1 << 15;
/// Columns of a block that the lane of a row sums; of more each element has a lane of its own.
constexpr Dim most_in_lane = 16;

/// Checks pattern and block; the number of rows of the matrix.
Dim check_pattern(std::string_view op, std::span<const Aval> in, const CsrParams& p, Loc loc) {
  rules::require_operands(op, in, 4, loc);
  for (std::size_t i = 0; i < 2; ++i)
    if (in[i].dtype != DType::i32 || in[i].shape.rank() != 1)
      usage_error(op,
                  "offsets and columns are i32[m + 1] and i32[entries], got " + to_string(in[0]) +
                      " and " + to_string(in[1]),
                  loc);
  if (in[0].shape[0] == 0) usage_error(op, "offsets are empty; they begin with 0", loc);
  if (p.width < 0 || p.longest < 0)
    usage_error(op, "width and longest row cannot be negative", loc);
  return in[0].shape[0] - 1;
}

void check_block(std::string_view op, const char* what, const Aval& a, DType t, Dim rows, Loc loc) {
  if (a.dtype != t || a.shape.rank() != 2 || a.shape[0] != rows)
    usage_error(op,
                std::string(what) + " is " + to_string(a) + "; a block of " + std::to_string(rows) +
                    " rows of " + std::string(name(t)) + " is needed",
                loc);
}

std::vector<Aval> shape_of_dot(const Params& params, std::span<const Aval> in, Loc loc) {
  const auto& p = params.as<CsrParams>();
  const Dim m = check_pattern("csr_dot", in, p, loc);
  const DType t = in[2].dtype;
  rules::require_dtype("csr_dot", in[2], rules::Accepts::floats, loc);
  if (in[2].shape != in[1].shape)
    usage_error(
        "csr_dot",
        "values " + to_string(in[2]) + " are not one for each of the columns " + to_string(in[1]),
        loc);
  check_block("csr_dot", "x", in[3], t, p.transpose ? m : p.width, loc);
  return {{t, {p.transpose ? p.width : m, in[3].shape[1]}}};
}

std::vector<Aval> shape_of_sampled(const Params& params, std::span<const Aval> in, Loc loc) {
  const auto& p = params.as<CsrParams>();
  const Dim m = check_pattern("csr_sampled", in, p, loc);
  const DType t = in[2].dtype;
  rules::require_dtype("csr_sampled", in[2], rules::Accepts::floats, loc);
  check_block("csr_sampled", "a", in[2], t, m, loc);
  check_block("csr_sampled", "b", in[3], t, p.width, loc);
  if (in[2].shape[1] != in[3].shape[1])
    usage_error("csr_sampled",
                "a " + to_string(in[2]) + " and b " + to_string(in[3]) + " differ in columns", loc);
  return {{t, in[1].shape}};
}

// ---- derivatives

Params transposed(const Params& params) {
  auto p = params.as<CsrParams>();
  p.transpose = !p.transpose;
  return p;
}

/// Of what is linear in its last two operands each.
template <const Primitive& p>
Tangents jvp_bilinear(const Params& params, const Arrays& x, const Arrays&, const Tangents& d) {
  Tangents r(1);
  for (std::size_t i = 2; i < 4; ++i) {
    if (!d[i]) continue;
    Arrays in = x;
    in[i] = *d[i];
    const Array part = emit1(p, params, in, {});
    r[0] = r[0] ? lax::add(*r[0], part) : part;
  }
  return r;
}

Tangents transpose_dot(const TransposeArgs& t) {
  Tangents r(4);
  if (!t.cotangents[0]) return r;
  const Array &ct = *t.cotangents[0], &offsets = t.inputs[0], &columns = t.inputs[1];
  auto p = t.params.as<CsrParams>();
  if (t.linear[3]) {
    r[3] = emit1(csr_dot_p, transposed(t.params), {offsets, columns, t.inputs[2], ct}, {});
  } else if (t.linear[2]) {
    const bool transpose = p.transpose;
    p.transpose = false;
    const Array &rows = transpose ? t.inputs[3] : ct, &across = transpose ? ct : t.inputs[3];
    r[2] = emit1(csr_sampled_p, p, {offsets, columns, rows, across}, {});
  }
  return r;
}

Tangents transpose_sampled(const TransposeArgs& t) {
  Tangents r(4);
  if (!t.cotangents[0]) return r;
  auto p = t.params.as<CsrParams>();
  for (std::size_t i = 2; i < 4; ++i) {
    if (!t.linear[i]) continue;
    p.transpose = i == 3;
    r[i] = emit1(csr_dot_p, p, {t.inputs[0], t.inputs[1], *t.cotangents[0], t.inputs[5 - i]}, {});
    break;
  }
  return r;
}

// ---- how they are computed

/// Rows `indices` of `a`.
Array rows_at(const Array& a, const Array& indices) {
  return emit1(gather_p, GatherParams{0, 0, GatherMode::clip}, {a, indices}, {});
}

/// The row that each entry belongs to: how many rows begin up to there, but for the first.
Array rows_of_entries(const Array& offsets, Dim entries) {
  const Array starts = lax::slice_axis(offsets, 0, 1, std::max<Dim>(1, offsets.size() - 1));
  const Array marks =
      emit1(scatter_add_p, ScatterParams{0, 0},
            {lax::full({DType::i32, {entries}}, 0), starts, lax::full(starts.aval(), 1)}, {});
  return emit1(cumsum_p, CumulativeParams{0, false}, {marks}, {});
}

/// A number for each row of a block, over its columns.
Array across(const Array& numbers, Dim columns) {
  return lax::broadcast(numbers, {numbers.size(), columns}, {0});
}

/// What sums are kept in.
DType sum_dtype(DType t) { return size_of(t) == 2 ? DType::f32 : t; }

/// A lane for each row, or, of a wide block, for each element of the result: it goes over the row's
/// entries.
Array by_rows(const CsrParams& p, const Array& offsets, const Array& columns, const Array& values,
              const Array& x) {
  const Dim m = offsets.size() - 1, k = x.shape()[1];
  const DType sums = sum_dtype(x.dtype());
  const auto sum_of_row = [&](const Array& from, const Array& to, const Array& block) {
    using State = std::pair<Array, Array>;
    const bool single = block.rank() == 1;
    const Array zero = lax::full({sums, single ? Shape() : Shape{k}}, 0);
    WhileOptions options{.max_steps = unbounded};
    if (p.longest > 0) options.max_steps = p.longest;
    return while_loop([&](const State& s) { return lax::lt(s.first, to); },
                      [&](State s) {
                        const Array e = lax::reshape(s.first, {1});
                        const Array v = lax::convert(rows_at(values, e), sums);
                        const Array row = lax::convert(rows_at(block, rows_at(columns, e)), sums);
                        const Array term = lax::mul(single ? v : across(v, k), row);
                        return State{lax::add(s.first, 1),
                                     lax::add(s.second, lax::reshape(term, zero.shape()))};
                      },
                      State{from, zero}, options)
        .second;
  };
  const Array from = lax::slice_axis(offsets, 0, 0, m), to = lax::slice_axis(offsets, 0, 1, m + 1);
  Array y;
  if (k == 1) {
    const Array one = lax::reshape(x, {x.size()});
    const auto row = [&](const Array& a, const Array& b) { return sum_of_row(a, b, one); };
    y = lax::reshape(vmap(row)(from, to), {m, 1});
  } else if (k <= most_in_lane) {
    const auto row = [&](const Array& a, const Array& b) { return sum_of_row(a, b, x); };
    y = vmap(row)(from, to);
  } else {
    const auto row = [&](const Array& a, const Array& b) {
      const auto element = [&](const Array& column) { return sum_of_row(a, b, column); };
      return vmap(element, {.in_axes = {1}})(x);
    };
    y = vmap(row)(from, to);
  }
  return lax::convert(y, x.dtype());
}

Array by_entries(const CsrParams& p, const Array& offsets, const Array& columns,
                 const Array& values, const Array& x) {
  const Dim k = x.shape()[1];
  const DType sums = sum_dtype(x.dtype());
  const Array rows = lax::convert(rows_at(x, rows_of_entries(offsets, columns.size())), sums);
  const Array updates = lax::mul(across(lax::convert(values, sums), k), rows);
  const Array y = emit1(scatter_add_p, ScatterParams{0, 0},
                        {lax::full({sums, {p.width, k}}, 0), columns, updates}, {});
  return lax::convert(y, x.dtype());
}

/// One element of a product by rows, over the row's entries in order.
kernel::Value element_of_rows(ElementContext& c, const Params& params, std::size_t,
                              const Index& index) {
  using kernel::Op;
  using kernel::Value;
  using kernel::Values;
  kernel::Builder& k = c.k;
  const auto& p = params.as<CsrParams>();
  const Shape &offsets = c.inputs[0].shape, &columns = c.inputs[1].shape,
              &block = c.inputs[3].shape;
  const auto within = [&](Value i, Dim last) {
    const Value high = k.i32(static_cast<std::int32_t>(last));
    return k.binary(Op::minimum, k.binary(Op::maximum, i, k.i32(0)), high);
  };
  const auto offset = [&](Value row) {
    return within(c.operand(0, Index::coordinates(offsets, {row})), columns[0]);
  };
  const Value row = index(k, 0), column = index(k, 1);
  const Value from = offset(row), to = offset(k.add(row, k.u32(1)));
  const Value count =
      k.convert(k.binary(Op::maximum, k.binary(Op::sub, to, from), k.i32(0)), DType::u32);
  const Value first = k.convert(from, DType::u32);
  const DType t = c.inputs[2].dtype, sums = sum_dtype(t);
  const auto wide = [&](Value v) { return t == sums ? v : k.convert(v, sums); };
  const Values zero{k.number(sums, 0)};
  const Values sum = k.count_loop(
      count, static_cast<std::uint64_t>(p.longest), zero,
      [&](Value n, std::span<const Value> so_far) {
        const Index entry = Index::coordinates(columns, {k.add(first, n)});
        const Value at = k.convert(within(c.operand(1, entry), block[0] - 1), DType::u32);
        const Value v = wide(c.operand(2, entry));
        const Value x = wide(c.operand(3, Index::coordinates(block, {at, column})));
        return Values{k.multiply_add(v, x, so_far[0])};
      });
  return t == sums ? sum[0] : k.convert(sum[0], t);
}

/// Whether a lane for each element is quicker than one for each row. It is where the columns of a
/// block fill an invocation, which then looks up an entry once, and the rows of x are in the cache;
/// else lanes of several rows have more loads under way. Of 10^6 rows of 10 entries on two cores of
/// an AMD EPYC of family 26, lavapipe 22.3, ms by elements and by rows, columns near and far:
/// 1 column 12, 13 and 16, 22; 8 columns 60, 32 and 200, 77; 16: 24, 63 and 174, 112; 32 (300,000
/// rows): 21, 64 and 79, 205.
bool by_elements(Dim columns, bool scattered, const Target& target) {
  constexpr Dim filled = 16;
  if (target.team > 0 || columns == 1) return true;
  return columns % filled == 0 && !(scattered && columns == filled);
}

Array expanded_dot(CsrParams p, const Arrays& x, const Target& target) {
  const Aval out =
      shape_of_dot(p, std::vector<Aval>{x[0].aval(), x[1].aval(), x[2].aval(), x[3].aval()}, {})[0];
  if (out.shape.size() == 0 || x[1].size() == 0 || x[3].size() == 0) return lax::full(out, 0);
  if (p.transpose) return by_entries(p, x[0], x[1], x[2], x[3]);
  if (p.longest == 0 && x[1].size() <= most_in_kernel) p.longest = x[1].size();
  if (p.longest > 0 && p.longest <= most_in_kernel &&
      by_elements(out.shape[1], p.scattered, target))
    return emit1(csr_rows_p, p, x, {});
  return by_rows(p, x[0], x[1], x[2], x[3]);
}

Array expanded_sampled(CsrParams, const Arrays& x, const Target&) {
  const Dim entries = x[1].size();
  if (entries == 0 || x[2].size() == 0 || x[3].size() == 0)
    return lax::full({x[2].dtype(), {entries}}, 0);
  const DType sums = sum_dtype(x[2].dtype());
  const Array a = lax::convert(rows_at(x[2], rows_of_entries(x[0], entries)), sums),
              b = lax::convert(rows_at(x[3], x[1]), sums);
  return lax::convert(emit1(sum_p, AxesParams{{1}}, {lax::mul(a, b)}, {}), x[2].dtype());
}

template <Array (*expand)(CsrParams, const Arrays&, const Target&)>
Arrays expansion(const Params& params, const Arrays& x, const Target& target, Loc) {
  return {expand(params.as<CsrParams>(), x, target)};
}

// ---- batches

/// Many matrices as the blocks of one: whatever has a batch axis, the operation stays the same.
template <const Primitive& p>
Batched batch_blocks(const Params& params, const Arrays& x, const BatchAxes& axes, Dim size) {
  const auto front = [&](std::size_t i) { return rules::batch_front(x[i], axes[i], size); };
  const auto flat = [](const Array& a) {
    const Shape& s = a.shape();
    Shape joined = s.without(0);
    return lax::reshape(a, joined.with(0, s[0] * s[1]));
  };
  auto all = params.as<CsrParams>();
  const Array offsets = front(0), columns = front(1);
  const Dim m = offsets.shape()[1] - 1, entries = columns.shape()[1];
  const auto behind = [&](const Array& a, Dim each) {
    const Array block = lax::iota(DType::i32, a.shape(), 0);
    return flat(lax::add(a, lax::mul(block, static_cast<double>(each))));
  };
  const Array starts = behind(lax::slice_axis(offsets, 1, 0, m), entries);
  const Array end = lax::full({DType::i32, {1}}, static_cast<double>(size * entries));
  const Array joined_columns = behind(columns, all.width);
  all.width *= size;
  const Array y = emit1(
      p, all, {lax::concatenate({starts, end}, 0), joined_columns, flat(front(2)), flat(front(3))},
      {});
  const Shape& s = y.shape();
  return {{lax::reshape(y, s.with(0, s[0] / size).with_inserted(0, size))}, {0}};
}

/// A block of blocks is a wider block.
template <const Primitive& p>
Batched batch_dot(const Params& params, const Arrays& x, const BatchAxes& axes, Dim size) {
  if (axes[0] || axes[1] || axes[2]) return batch_blocks<p>(params, x, axes, size);
  const Array block = lax::move_axis(x[3], *axes[3], 1);
  const Dim n = block.shape()[0], k = block.shape()[2];
  const Array y = emit1(p, params, {x[0], x[1], x[2], lax::reshape(block, {n, size * k})}, {});
  return {{lax::reshape(y, {y.shape()[0], size, k})}, {1}};
}

// ---- on the host

/// Calls `visit(row, entry, column)` for every entry whose row and column there are.
template <class F>
void for_entries(std::span<const HostArray> in, const CsrParams& p, const F& visit) {
  const Dim m = in[0].aval.shape[0] - 1, entries = in[1].aval.shape[0];
  for (Dim i = 0; i < m; ++i) {
    const Dim end = std::min<Dim>(in[0].integer(i + 1), entries);
    for (Dim e = std::max<Dim>(0, in[0].integer(i)); e < end; ++e)
      if (const Dim c = in[1].integer(e); c >= 0 && c < p.width) visit(i, e, c);
  }
}

std::vector<HostArray> reference_dot(const Params& params, std::span<const Aval> out,
                                     std::span<const HostArray> in) {
  const auto& p = params.as<CsrParams>();
  const Dim k = in[3].aval.shape[1];
  std::vector<double> sums(at(out[0].shape.size()), 0.0);
  for_entries(in, p, [&](Dim i, Dim e, Dim c) {
    const Dim to = p.transpose ? c : i, from = p.transpose ? i : c;
    for (Dim j = 0; j < k; ++j)
      sums[at(to * k + j)] += in[2].number(e) * in[3].number(from * k + j);
  });
  HostArray r(out[0]);
  for (std::size_t i = 0; i < sums.size(); ++i) r.set_number(static_cast<Dim>(i), sums[i]);
  return {std::move(r)};
}

std::vector<HostArray> reference_sampled(const Params& params, std::span<const Aval> out,
                                         std::span<const HostArray> in) {
  const Dim k = in[2].aval.shape[1];
  HostArray r(out[0]);
  for_entries(in, params.as<CsrParams>(), [&](Dim i, Dim e, Dim c) {
    double sum = 0;
    for (Dim j = 0; j < k; ++j) sum += in[2].number(i * k + j) * in[3].number(c * k + j);
    r.set_number(e, sum);
  });
  return {std::move(r)};
}

}  // namespace

const Primitive csr_dot_p{
    .name = "csr_dot",
    .parse = parse_params<CsrParams>,
    .shape = shape_of_dot,
    .jvp = jvp_bilinear<csr_dot_p>,
    .transpose = transpose_dot,
    .batch = batch_dot<csr_dot_p>,
    .lower = Lowering::expanded(expansion<expanded_dot>),
    .reference = reference_dot,
};

const Primitive csr_rows_p{
    .name = "csr_rows",
    .parse = parse_params<CsrParams>,
    .shape = shape_of_dot,
    .jvp = jvp_bilinear<csr_rows_p>,
    .transpose = transpose_dot,
    .batch = batch_dot<csr_rows_p>,
    .lower = Lowering::per_element(element_of_rows, Cost::heavy, Reuse::many),
    .reference = reference_dot,
};

const Primitive csr_sampled_p{
    .name = "csr_sampled",
    .parse = parse_params<CsrParams>,
    .shape = shape_of_sampled,
    .jvp = jvp_bilinear<csr_sampled_p>,
    .transpose = transpose_sampled,
    .batch = batch_blocks<csr_sampled_p>,
    .lower = Lowering::expanded(expansion<expanded_sampled>),
    .reference = reference_sampled,
};

}  // namespace gnomon
