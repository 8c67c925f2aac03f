// codegen/primitives/matrix.cpp -- matrices in the last two axes: views, products, small loops.
#include "codegen/primitives/matrix.h"

#include <numeric>

#include "codegen/base/lists.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/trace/trace.h"
#include "codegen/transforms/control_graphs.h"
#include "gnomon/control.h"

namespace gnomon::matrix {
namespace {

std::vector<int> range(int n) {
  std::vector<int> r(at(n));
  std::iota(r.begin(), r.end(), 0);
  return r;
}

Shape matrix_shape(Shape batch, Dim m, Dim n) { return extended(batch, {m, n}); }

Array zeros(DType dtype, const Shape& shape) { return lax::full({dtype, shape}, 0); }

/// i32[batch..] of one traced start, for dynamic slices.
DynamicSliceParams slice_params(const Shape& shape, Dim m, Dim n) {
  Shape sizes = shape;
  sizes[shape.rank() - 2] = m;
  sizes[shape.rank() - 1] = n;
  return {sizes, 0};
}

Arrays starts(const Array& a, const Array& i, const Array& j) {
  const Array zero = lax::scalar_integer(DType::i32, 0);
  Arrays r(at(a.rank()), zero);
  r[at(a.rank() - 2)] = i;
  r[at(a.rank() - 1)] = j;
  return r;
}

Array traced_zero() { return lax::scalar_integer(DType::i32, 0); }

}  // namespace

Term sign_of(const Term& x) {
  const Array zero = number_like(x, 0);
  return choose(lax::lt(x.a, zero), number_like(x, -1), number_like(x, 1));
}

Shape extended(Shape batch, std::initializer_list<Dim> more) {
  for (Dim d : more) batch.append(d);
  return batch;
}

Array transposed(const Array& a) {
  std::vector<int> axes = range(a.rank());
  std::swap(axes[at(a.rank() - 1)], axes[at(a.rank() - 2)]);
  return lax::permute(a, std::move(axes));
}

Array product(const Array& a, const Array& b, bool a_transposed, bool b_transposed) {
  const int r = a.rank();
  return lax::dot_general(
      a, b,
      {{a_transposed ? r - 2 : r - 1}, {b_transposed ? r - 1 : r - 2}, range(r - 2), range(r - 2)});
}

Array spread(const Array& x, const Shape& shape) {
  return lax::broadcast(x, shape, range(x.rank()));
}

Array identity(DType dtype, const Shape& batch, Dim n) {
  const Shape s = matrix_shape(batch, n, n);
  return lax::convert(lax::eq(row_index(s), column_index(s)), dtype);
}

Array lower_part(const Array& a, Dim k) {
  const Term limit = lax::add(row_index(a.shape()), static_cast<double>(k));
  return choose(at_least(limit, column_index(a.shape())), a, lax::zeros_like(a));
}

Array upper_part(const Array& a, Dim k) {
  const Term limit = lax::add(row_index(a.shape()), static_cast<double>(k));
  return choose(at_least(column_index(a.shape()), limit), a, lax::zeros_like(a));
}

Array diagonal(const Array& a) {
  const Dim n = std::min(rows(a), columns(a));
  const Array square = block(a, 0, n, 0, n);
  const Array flat = lax::reshape(square, extended(batch_of(a), {n * n}));
  std::vector<Dim> first(at(flat.rank()), 0), last(flat.shape().begin(), flat.shape().end()),
      step(at(flat.rank()), 1);
  step.back() = n + 1;
  return n == 0 ? flat : lax::slice(flat, first, last, step);
}

Array symmetrized(const Array& a) { return lax::mul(lax::add(a, transposed(a)), 0.5); }

Array block(const Array& a, Dim r0, Dim r1, Dim c0, Dim c1) {
  std::vector<Dim> first(at(a.rank()), 0), last(a.shape().begin(), a.shape().end()),
      step(at(a.rank()), 1);
  first[at(a.rank() - 2)] = r0;
  last[at(a.rank() - 2)] = r1;
  first[at(a.rank() - 1)] = c0;
  last[at(a.rank() - 1)] = c1;
  return lax::slice(a, first, last, step);
}

Array blocks(const Array& a, const Array& b, const Array& c, const Array& d) {
  const int r = a.rank();
  return lax::concatenate({lax::concatenate({a, b}, r - 1), lax::concatenate({c, d}, r - 1)},
                          r - 2);
}

Array padded(const Array& a, Dim m, Dim n, bool identity_corner) {
  const Dim more_rows = m - rows(a), more_columns = n - columns(a);
  if (more_rows == 0 && more_columns == 0) return a;
  if (identity_corner && more_rows == more_columns) {
    const Shape batch = batch_of(a);
    return blocks(a, zeros(a.dtype(), matrix_shape(batch, rows(a), more_columns)),
                  zeros(a.dtype(), matrix_shape(batch, more_rows, columns(a))),
                  identity(a.dtype(), batch, more_rows));
  }
  PadParams p;
  p.lo.assign(at(a.rank()), 0);
  p.hi.assign(at(a.rank()), 0);
  p.interior.assign(at(a.rank()), 0);
  p.hi[at(a.rank() - 2)] = more_rows;
  p.hi[at(a.rank() - 1)] = more_columns;
  return lax::pad(a, lax::scalar(a.dtype(), 0), std::move(p));
}

Array column_at(const Array& a, const Array& j) {
  return lax::reshape(block_at(a, traced_zero(), j, rows(a), 1), extended(batch_of(a), {rows(a)}));
}

Array row_at(const Array& a, const Array& i) {
  return lax::reshape(block_at(a, i, traced_zero(), 1, columns(a)),
                      extended(batch_of(a), {columns(a)}));
}

Array block_at(const Array& a, const Array& i, const Array& j, Dim m, Dim n) {
  return emit1(dynamic_slice_p, slice_params(a.shape(), m, n),
               control::joined({a}, starts(a, i, j)), {});
}

Array with_block(const Array& a, const Array& update, const Array& i, const Array& j) {
  return emit1(dynamic_update_slice_p, DynamicUpdateSliceParams{0},
               control::joined({a, update}, starts(a, i, j)), {});
}

Array rows_taken(const Array& a, const Array& indices) {
  const int batch = a.rank() - 2;
  return emit1(gather_p, GatherParams{batch, batch, GatherMode::clip}, {a, indices}, {});
}

Array taken(const Array& v, const Array& indices) {
  const int batch = v.rank() - 1;
  return emit1(gather_p, GatherParams{batch, batch, GatherMode::clip}, {v, indices}, {});
}

Elements elements(const Array& a) {
  Elements e;
  for (Dim i = 0; i < rows(a); ++i) {
    e.emplace_back();
    for (Dim j = 0; j < columns(a); ++j)
      e.back().push_back(lax::reshape(block(a, i, i + 1, j, j + 1), batch_of(a)));
  }
  return e;
}

std::vector<Term> vector_elements(const Array& v) {
  std::vector<Term> e;
  const int axis = v.rank() - 1;
  for (Dim i = 0; i < v.shape()[axis]; ++i)
    e.push_back(lax::reshape(lax::slice_axis(v, axis, i, i + 1), v.shape().without(axis)));
  return e;
}

Array vector_of(const std::vector<Term>& e) {
  Arrays parts;
  for (const Term& t : e) parts.push_back(lax::reshape(t.a, extended(t.a.shape(), {1})));
  return lax::concatenate(parts, parts[0].rank() - 1);
}

Array matrix_of(const Elements& e) {
  std::vector<Term> flat;
  for (const auto& row : e) flat.insert(flat.end(), row.begin(), row.end());
  const Shape batch = flat[0].a.shape();
  return lax::reshape(vector_of(flat), matrix_shape(batch, static_cast<Dim>(e.size()),
                                                    static_cast<Dim>(e[0].size())));
}

Arrays repeat(Dim count, const Arrays& init,
              const std::function<Arrays(const Array& i, const Arrays&)>& body) {
  const auto step = [&](std::span<const Array> carried) {
    return control::Returned{body(carried[0], Arrays(carried.begin() + 1, carried.end())), {}, {}};
  };
  return control::run_fori(Dim{0}, count, step, init, control::Texts(init.size(), "state"), {},
                           Trace::where());
}

Arrays by_matrix(const Arrays& inputs, const std::function<Arrays(const Arrays&)>& f) {
  std::vector<Aval> like;
  {
    Trace trace;
    Arrays in;
    for (const Array& a : inputs) in.push_back(trace.input(a.aval()));
    for (const Array& a : f(in)) like.push_back(a.aval());
  }
  Arrays init;
  for (const Aval& a : like) init.push_back(zeros(a.dtype, a.shape));
  return repeat(1, init, [&](const Array&, const Arrays&) { return f(inputs); });
}

Arrays repeat_while(Dim limit, const Arrays& init, const Shape& batch,
                    const std::function<Array(const Arrays&)>& open,
                    const std::function<Arrays(const Arrays&)>& body) {
  GNOMON_CHECK(batch.rank() <= 1, "a loop over matrices in several axes");
  const Loc loc = Trace::where();
  const auto graph = [&](const auto& f) {
    Trace trace;
    trace.loc = loc;
    Arrays in;
    for (const Array& a : init) in.push_back(trace.input(a.aval()));
    Graph g = trace.finish(f(in));
    GNOMON_CHECK(trace.captures.empty(), "a loop over matrices captures arrays");
    return control::share(std::move(g));
  };
  const auto holds = [&](const Arrays& c) { return Arrays{open(c)}; };
  WhileParams p{graph(holds), graph(body), static_cast<int>(init.size()), limit,
                batch.rank() == 1 ? batch[0] : 0};
  return control::emit_while(std::move(p), init, loc);
}

Arrays sweep(const Rounds& rounds, const Arrays& init, const Shape& batch,
             const std::function<Arrays(const Arrays&)>& round) {
  // Carried behind the caller's arrays: the round, the largest element met in this sweep, and
  // whether the last sweep met none. Each has the shape of the batch.
  const DType dtype = init[0].dtype();
  const Aval count{DType::i32, batch}, flag{DType::boolean, batch};
  const std::size_t own = init.size();
  const Arrays start =
      control::joined(init, {lax::full(count, 0), zeros(dtype, batch), lax::full(flag, 0)});
  const auto open = [&](const Arrays& c) { return Array(emit1(not_p, {}, {c[own + 2]}, {})); };
  const auto body = [&](const Arrays& c) {
    Arrays next = round(Arrays(c.begin(), c.begin() + static_cast<std::ptrdiff_t>(own)));
    const Term met = next.back();
    next.pop_back();
    const Array following = lax::add(c[own], 1.0);
    const Term worst = larger(c[own + 1], met);
    const Array per_sweep = lax::full(count, static_cast<double>(rounds.per_sweep));
    const Array ended = lax::eq(emit1(rem_p, {}, {following, per_sweep}, {}), lax::full(count, 0));
    // A NaN ends the iteration as well: nothing will change it.
    const Array small = emit1(not_p, {}, {exceeds(worst, rounds.tolerance)}, {});
    next.push_back(following);
    next.push_back(choose(ended, number_like(met, 0), worst));
    next.push_back(lax::logical_and(ended, small));
    return next;
  };
  Arrays end = repeat_while(rounds.per_sweep * rounds.sweeps, start, batch, open, body);
  end.resize(own);
  return end;
}

}  // namespace gnomon::matrix
