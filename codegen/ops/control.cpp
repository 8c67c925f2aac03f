// codegen/ops/control.cpp -- loops from traced functions: what gnomon/control.h and
// gnomon/loops.h leave untyped.
#include "gnomon/control.h"

#include <algorithm>

#include "codegen/lax/align.h"
#include "codegen/lax/lax.h"
#include "codegen/lax/positions.h"
#include "codegen/operations/buffer.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/trace/eager.h"
#include "codegen/transforms/control_trace.h"
#include "gnomon/loops.h"

namespace gnomon::control {
namespace {

/// The largest number of steps that i32 counts.
constexpr Dim most_counted = 0x7fffffff;

/// `c`, after the check that it is what a loop goes on by.
Array checked_condition(std::string_view op, const Array& c, Loc loc) {
  if (c.aval() != Aval{DType::boolean, {}})
    usage_error(op,
                "cond returns " + to_string(c.aval()) + " and must return bool[]; " +
                    (c.dtype() == DType::boolean ? "reduce it with gnomon::any or gnomon::all"
                                                 : "compare it with something"),
                loc);
  return c;
}

void check_unroll(std::string_view op, int unroll, Loc loc) {
  if (unroll < 0)
    usage_error(
        op,
        "`unroll` is " + std::to_string(unroll) + " and cannot be negative; 0 means no loop at all",
        loc);
}

/// The length that all sequences have; nothing when there are none.
std::optional<Dim> leading_axis(std::string_view op, const Arrays& xs, const Texts& paths,
                                Loc loc) {
  check_start(op, xs, paths, loc);
  for (std::size_t i = 0; i < xs.size(); ++i) {
    if (xs[i].rank() == 0)
      usage_error(op,
                  quoted(paths[i]) + " is " + to_string(xs[i].aval()) +
                      " and has no leading axis to go along; capture it instead",
                  loc);
    const Dim n = xs[i].shape()[0], first = xs[0].shape()[0];
    if (n != first)
      usage_error(op,
                  quoted(paths[0]) + " has leading axis " + std::to_string(first) + " but " +
                      quoted(paths[i]) + " has " + std::to_string(n) +
                      "; sequences have one length",
                  loc);
  }
  if (xs.empty()) return {};
  return xs[0].shape()[0];
}

/// Element `at` along the leading axis of each array.
Arrays elements(const Arrays& xs, Dim at, Loc loc) {
  Arrays r;
  for (const Array& x : xs)
    r.push_back(lax::reshape(lax::slice_axis(x, 0, at, at + 1, loc), x.shape().without(0), loc));
  return r;
}

/// Elements [from, from + count * per) as [count, per, ...].
Arrays grouped(const Arrays& xs, Dim from, Dim count, Dim per, Loc loc) {
  Arrays r;
  for (const Array& x : xs) {
    const Array some = lax::slice_axis(x, 0, from, from + count * per, loc);
    r.push_back(lax::reshape(some, some.shape().with(0, per).with_inserted(0, count), loc));
  }
  return r;
}

/// [count, per, ...] as [count * per, ...].
Array ungrouped(const Array& x, Loc loc) {
  const Shape& s = x.shape();
  return lax::reshape(x, s.without(0).with(0, s[0] * s[1]), loc);
}

Array stacked(const Arrays& rows, Loc loc) {
  Arrays parts;
  for (const Array& row : rows)
    parts.push_back(lax::reshape(row, row.shape().with_inserted(0, 1), loc));
  return lax::concatenate(parts, 0, loc);
}

/// A scan whose iterations take `unroll` steps each (0: all of them); the steps that are left over
/// are taken without a loop. `options`: those of scan or fori_loop.
template <class Options>
Arrays unrolled_scan(std::string_view op, FunctionRef<Arrays(const Arrays&)> body,
                     const Arrays& init, const Arrays& xs, Dim length, bool reverse,
                     const Options& options, Loc loc) {
  const int unroll = options.unroll;
  const auto kept = [&](Dim steps) {
    return kept_by(op, options.kind, options.checkpoints, steps, loc);
  };
  const Kept whole = kept(length);
  if (unroll == 1 || length == 0) return build_scan(body, init, xs, length, reverse, loc, whole);
  const std::size_t carried = init.size();
  const Dim trips = unroll == 0 ? 0 : length / unroll;
  const Dim looped = trips > 1 ? trips * unroll : 0;
  // Carried values, then the rows of `count` steps, which begin with element `from`.
  const auto steps = [&](Arrays state, const Arrays& sequences, Dim from, Dim count) {
    std::vector<Arrays> rows;  // of each stacked output
    for (Dim k = 0; k < count; ++k) {
      const Dim at = reverse ? from + count - 1 - k : from + k;
      const Arrays out = body(joined(state, elements(sequences, at, loc)));
      state = part(out, 0, carried);
      rows.resize(out.size() - carried, Arrays(static_cast<std::size_t>(count)));
      for (std::size_t j = 0; j < rows.size(); ++j)
        rows[j][static_cast<std::size_t>(at - from)] = out[carried + j];
    }
    for (const Arrays& each : rows) state.push_back(stacked(each, loc));
    return state;
  };

  Arrays state = init, rows;
  if (looped > 0) {
    const auto group = [&](const Arrays& in) {
      return steps(part(in, 0, carried), part(in, carried, xs.size()), 0, unroll);
    };
    const Arrays out =
        build_scan(group, init, grouped(xs, reverse ? length - looped : 0, trips, unroll, loc),
                   trips, reverse, loc, kept(trips));
    state = part(out, 0, carried);
    for (std::size_t j = carried; j < out.size(); ++j) rows.push_back(ungrouped(out[j], loc));
  }
  if (looped == length) return joined(state, rows);
  const Arrays rest = steps(state, xs, reverse ? 0 : looped, length - looped);
  Arrays all = part(rest, 0, carried);
  for (std::size_t j = carried; j < rest.size(); ++j) {
    const std::size_t row = j - carried;
    if (looped == 0)
      all.push_back(rest[j]);
    else
      all.push_back(lax::concatenate(
          reverse ? Arrays{rest[j], rows[row]} : Arrays{rows[row], rest[j]}, 0, loc));
  }
  return all;
}

/// How many of at most `bound` steps `length` asks for: i32[].
Array steps_of(const Array& length, Dim bound, Loc loc) {
  const Array n = positions::cut_to_i32(length, loc);
  const Array low = emit1(max_p, {}, {n, lax::zeros_like(n, loc)}, loc);
  const Array most = lax::full_like(n, static_cast<double>(bound), loc);
  return emit1(min_p, {}, {low, most}, loc);
}

}  // namespace

std::vector<Array> run_while(FunctionRef<Array(std::span<const Array>)> condition, Body body,
                             const Arrays& init, const Texts& paths, const WhileOptions& options,
                             Loc loc) {
  check_start("while_loop", init, paths, loc);
  const auto holds = [&](const Arrays& carried) {
    return checked_condition("while_loop", condition(carried), loc);
  };
  const auto next = [&](const Arrays& carried) {
    return checked_carry("while_loop", init, paths, body(carried), loc);
  };
  return at_once("while_loop", loc,
                 [&] { return build_while("while_loop", holds, next, init, options, loc); });
}

std::vector<Array> run_fori(Dim lower, Dim upper, Body body, const Arrays& init, const Texts& paths,
                            const ForiOptions& options, Loc loc) {
  check_start("fori_loop", init, paths, loc);
  check_unroll("fori_loop", options.unroll, loc);
  const auto fits = [](Dim x) { return x >= -most_counted && x <= most_counted; };
  if (!fits(lower) || !fits(upper))
    usage_error("fori_loop",
                "bounds " + std::to_string(lower) + " and " + std::to_string(upper) +
                    " do not fit into the i32 counter; count from 0 and add an offset",
                loc);
  return at_once("fori_loop", loc, [&]() -> Arrays {
    const auto step = [&](const Arrays& carried) {
      const Array next = lax::add(carried[0], 1.0, loc);
      return joined({next}, checked_carry("fori_loop", init, paths, body(carried), loc));
    };
    const Arrays start = joined({lax::scalar_integer(DType::i32, lower, loc)}, init);
    const Arrays end = unrolled_scan("fori_loop", step, start, {}, std::max<Dim>(0, upper - lower),
                                     false, options, loc);
    return {end.begin() + 1, end.end()};
  });
}

std::vector<Array> run_fori(const Operand& lower, const Operand& upper, Body body,
                            const Arrays& init, const Texts& paths, const WhileOptions& options) {
  const Loc loc = lower.loc();
  check_start("fori_loop", init, paths, loc);
  std::optional<DType> dtype;
  for (const Operand* x : {&lower, &upper}) {
    const Aval found =
        x->is_array() ? x->array().aval() : Aval{align::default_dtype(x->scalar().kind), {}};
    if (!is_integer(found.dtype) || found.shape.rank() > 0)
      usage_error("fori_loop", "a bound is " + to_string(found) + " and must be one integer", loc);
    if (!x->is_array()) continue;
    if (dtype && *dtype != found.dtype)
      usage_error("fori_loop",
                  "bounds are " + to_string(lower.array().aval()) + " and " + to_string(found) +
                      "; cast one of them",
                  loc);
    dtype = found.dtype;
  }
  const auto as_bound = [&](const Operand& x) {
    return x.is_array() ? x.array()
                        : number_as("fori_loop", x.scalar(), dtype.value_or(DType::i32), loc);
  };
  return at_once("fori_loop", loc, [&]() -> Arrays {
    const Array last = as_bound(upper);
    const auto holds = [&](const Arrays& carried) { return lax::lt(carried[0], last, loc); };
    const auto step = [&](const Arrays& carried) {
      const Array next = lax::add(carried[0], 1.0, loc);
      return joined({next}, checked_carry("fori_loop", init, paths, body(carried), loc));
    };
    const Arrays end =
        build_while("fori_loop", holds, step, joined({as_bound(lower)}, init), options, loc);
    return {end.begin() + 1, end.end()};
  });
}

std::vector<Array> run_scan(Body body, const Arrays& init, const Texts& paths, const Arrays& xs,
                            const Texts& x_paths, const ScanOptions& options, Loc loc) {
  check_start("scan", init, paths, loc);
  check_unroll("scan", options.unroll, loc);
  const std::optional<Dim> leading = leading_axis("scan", xs, x_paths, loc);
  if (leading && options.length && *leading != *options.length)
    usage_error("scan",
                "`length` is " + std::to_string(*options.length) + " but " + quoted(x_paths[0]) +
                    " has leading axis " + std::to_string(*leading) +
                    "; leave `length` out, or slice the sequence",
                loc);
  if (!leading && !options.length)
    usage_error("scan", "there is no sequence that says how many steps to take; give {.length = n}",
                loc);
  const Dim length = options.length ? *options.length : *leading;
  if (length < 0)
    usage_error("scan", "`length` is " + std::to_string(length) + " and cannot be negative", loc);
  return at_once("scan", loc, [&]() -> Arrays {
    const auto step = [&](const Arrays& inputs) {
      const Returned r = body(inputs);
      return joined(checked_carry("scan", init, paths, r, loc), r.rows);
    };
    return unrolled_scan("scan", step, init, xs, length, options.reverse, options, loc);
  });
}

std::vector<Array> run_counted_while(FunctionRef<Array(std::span<const Array>)> condition,
                                     Body body, const Arrays& init, const Texts& paths,
                                     const WhileOptions& options, Loc loc) {
  constexpr std::string_view op = "while_loop_counted";
  const StepBound& bound = options.max_steps;
  check_start(op, init, paths, loc);
  if (bound.bounded() && bound.steps() > most_counted)
    usage_error(op,
                "max_steps is " + std::to_string(bound.steps()) +
                    " and steps are counted in i32; bound the loop by less, or use while_loop",
                loc);
  const std::size_t n = init.size();
  const auto holds = [&](const Arrays& carried) {
    return checked_condition(op, condition(std::span(carried).first(n)), loc);
  };
  const auto next = [&](const Arrays& carried) {
    const Returned r = body(std::span(carried).first(n));
    return joined(checked_carry(op, init, paths, r, loc), {lax::add(carried[n], 1.0, loc)});
  };
  return at_once(op, loc, [&] {
    Arrays end = build_while(op, holds, next,
                             joined(init, {lax::scalar_integer(DType::i32, 0, loc)}), options, loc);
    end.push_back(bound.bounded() ? holds(end) : lax::full({DType::boolean, {}}, 0, loc));
    return end;
  });
}

std::vector<Array> run_scan(Body body, const Arrays& init, const Texts& paths, const Arrays& xs,
                            const Texts& x_paths, const DynamicScanOptions& options, Loc loc) {
  check_start("scan", init, paths, loc);
  const Array& length = options.length.array();
  check_start("scan", {length}, {"length"}, loc);
  if (length.rank() > 0 || !is_integer(length.dtype()))
    usage_error("scan", "`length` is " + to_string(length.aval()) + " and must be one integer",
                loc);
  const std::optional<Dim> leading = leading_axis("scan", xs, x_paths, loc);
  if (!leading && !options.max_steps)
    usage_error("scan",
                "`length` is known only when the program runs, and there is no sequence that says "
                "how many steps there are at most; give {.max_steps = n}",
                loc);
  const Dim bound = options.max_steps ? *options.max_steps : *leading;
  if (bound < 0 || bound > most_counted || (leading && bound > *leading))
    usage_error(
        "scan",
        "`max_steps` is " + std::to_string(bound) + " and must be between 0 and " +
            (leading ? "the leading axis " + std::to_string(*leading) + " of " + quoted(x_paths[0])
                     : std::to_string(most_counted)),
        loc);
  return at_once("scan", loc, [&]() -> Arrays {
    std::vector<Aval> row_types;
    {
      Trace trace;
      trace.loc = loc;
      Arrays inputs = inputs_like(trace, init);
      for (const Array& x : xs) inputs.push_back(trace.input({x.dtype(), x.shape().without(0)}));
      const Returned r = body(inputs);
      checked_carry("scan", init, paths, r, loc);
      for (const Array& row : r.rows)
        row_types.push_back({row.dtype(), row.shape().with_inserted(0, bound)});
    }
    if (bound == 0) {
      Arrays none = init;
      for (const Aval& row : row_types) none.push_back(lax::full(row, 0, loc));
      none.push_back(lax::scalar_integer(DType::i32, 0, loc));
      return none;
    }

    // Carried: the number of the step, the scan's own values, the rows.
    const Array count = steps_of(length, bound, loc);
    Arrays start = joined({lax::scalar_integer(DType::i32, 0, loc)}, init);
    for (const Aval& row : row_types)
      start.push_back(emit1(buffer_p, BufferParams{row.dtype, row.shape}, {}, loc));
    const std::size_t first_row = 1 + init.size();
    const auto holds = [&](const Arrays& c) { return lax::lt(c[0], count, loc); };
    const auto next = [&](const Arrays& c) {
      Arrays in = part(c, 1, init.size());
      for (const Array& x : xs) in.push_back(rules::row_of(x, c[0], loc));
      const Returned r = body(in);
      Arrays out = joined({lax::add(c[0], 1.0, loc)}, checked_carry("scan", init, paths, r, loc));
      for (std::size_t j = 0; j < r.rows.size(); ++j)
        out.push_back(rules::with_row(c[first_row + j], r.rows[j], c[0], loc));
      return out;
    };
    Arrays end =
        build_while("scan", holds, next, start, {bound, options.kind, options.checkpoints}, loc);
    end.erase(end.begin());
    end.push_back(count);
    return end;
  });
}

std::vector<Array> run_map(Body one, Body many, const Arrays& xs, const Texts& x_paths,
                           std::optional<Dim> batch_size, Loc loc) {
  const std::optional<Dim> leading = leading_axis("map_each", xs, x_paths, loc);
  if (!leading)
    usage_error("map_each", "there are no arrays among `xs` that say how many elements there are",
                loc);
  if (batch_size && *batch_size < 1)
    usage_error("map_each",
                "`batch_size` is " + std::to_string(*batch_size) +
                    " and must be positive; leave it out to take elements one by one",
                loc);
  return at_once("map_each", loc, [&]() -> Arrays {
    const Dim n = *leading;
    const auto by = [&](Body body) { return [body](const Arrays& in) { return body(in).rows; }; };
    const auto one_by_one = by(one);
    const auto side_by_side = by(many);
    if (!batch_size || n == 0) return build_scan(one_by_one, {}, xs, n, false, loc);
    const Dim per = *batch_size;
    if (n <= per) return side_by_side(xs);
    const Dim trips = n / per;
    const Arrays groups =
        build_scan(side_by_side, {}, grouped(xs, 0, trips, per, loc), trips, false, loc);
    Arrays rest;
    if (trips * per < n) {
      Arrays last;
      for (const Array& x : xs) last.push_back(lax::slice_axis(x, 0, trips * per, n, loc));
      rest = side_by_side(last);
    }
    Arrays all;
    for (std::size_t j = 0; j < groups.size(); ++j) {
      const Array rows = ungrouped(groups[j], loc);
      all.push_back(rest.empty() ? rows : lax::concatenate({rows, rest[j]}, 0, loc));
    }
    return all;
  });
}

}  // namespace gnomon::control
