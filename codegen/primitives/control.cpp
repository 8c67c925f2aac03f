// codegen/primitives/control.cpp -- loops and branches from traced functions: what gnomon/control.h
// leaves untyped.
#include "gnomon/control.h"

#include <algorithm>

#include "codegen/primitives/control_graphs.h"
#include "codegen/primitives/lax.h"
#include "codegen/trace/trace.h"

namespace gnomon::control {
namespace {

DType default_dtype(const Scalar& x) {
  switch (x.kind) {
    case Scalar::Kind::boolean:
      return DType::boolean;
    case Scalar::Kind::integer:
      return DType::i32;
    case Scalar::Kind::floating:
      return DType::f32;
  }
  return DType::f32;
}

/// Whether a number of this kind can stand for an element of `t`.
bool fits(const Scalar& x, DType t) {
  switch (x.kind) {
    case Scalar::Kind::boolean:
      return t == DType::boolean;
    case Scalar::Kind::integer:
      return t != DType::boolean;
    case Scalar::Kind::floating:
      return is_float(t);
  }
  return false;
}

Array number_as(const Scalar& x, DType t, Loc loc) {
  if (x.kind == Scalar::Kind::floating || is_float(t)) return lax::scalar(t, x.floating, loc);
  return lax::scalar_integer(t, x.integer, loc);
}

std::string quoted(const std::string& path) { return "`" + path + "`"; }

/// A graph traced inside the current trace, with what it captured.
struct Part {
  Graph graph;
  Arrays captures;
};

Part finish(Trace& trace, const Arrays& outputs) {
  Graph graph = trace.finish(outputs);
  return {std::move(graph), std::move(trace.captures)};
}

bool same_array(const Array& a, const Array& b) {
  if (a.concrete() || b.concrete()) return a.storage() == b.storage();
  return a.trace_serial() == b.trace_serial() && a.value() == b.value();
}

/// Makes all parts take the union of their captures behind their first `own` inputs, and returns
/// it.
Arrays share_captures(std::span<Part* const> parts, std::size_t own) {
  Arrays all;
  for (const Part* part : parts)
    for (const Array& a : part->captures)
      if (std::none_of(all.begin(), all.end(), [&](const Array& b) { return same_array(a, b); }))
        all.push_back(a);
  for (Part* part : parts) {
    Graph& g = part->graph;
    const std::vector<ValueId> inputs = g.inputs;
    g.inputs.resize(own);
    for (const Array& a : all) {
      const auto found = std::find_if(part->captures.begin(), part->captures.end(),
                                      [&](const Array& b) { return same_array(a, b); });
      const auto at = own + static_cast<std::size_t>(found - part->captures.begin());
      g.inputs.push_back(at < inputs.size() ? inputs[at] : g.fresh(a.aval()));
    }
    g = canonicalize(g);
  }
  return all;
}

void check_start(std::string_view op, const Arrays& arrays, const Texts& paths, Loc loc) {
  for (std::size_t i = 0; i < arrays.size(); ++i)
    if (arrays[i].empty())
      usage_error(
          op,
          quoted(paths[i]) + " is an empty Array (moved from, or never assigned); give it a value",
          loc);
}

/// What the body made of the carried values, after the check that they are of the types they came
/// with.
Arrays checked_carry(std::string_view op, const Arrays& init, const Texts& paths, const Returned& r,
                     Loc loc) {
  const auto changed = [&](std::size_t i, const std::string& leaves, bool shape) {
    usage_error(op,
                quoted(paths[i]) + " enters the body as " + to_string(init[i].aval()) +
                    " but leaves it as " + leaves + "; a carry keeps its " +
                    (shape ? "shape" : "dtype"),
                loc);
  };
  if (r.number) {
    const Aval& want = init[0].aval();
    const Aval found{default_dtype(*r.number), {}};
    if (want.shape.rank() > 0) changed(0, to_string(found), true);
    if (!fits(*r.number, want.dtype)) changed(0, to_string(found), false);
    return {number_as(*r.number, want.dtype, loc)};
  }
  GNOMON_CHECK(r.arrays.size() == init.size(), "static parts are equal, so the arrays are as many");
  for (std::size_t i = 0; i < init.size(); ++i) {
    if (r.arrays[i].empty())
      usage_error(
          op,
          quoted(paths[i]) + " leaves the body as an empty Array (moved from, or never assigned)",
          loc);
    const Aval& found = r.arrays[i].aval();
    if (found != init[i].aval()) changed(i, to_string(found), found.shape != init[i].shape());
  }
  return r.arrays;
}

Arrays inputs_like(Trace& trace, const Arrays& arrays) {
  Arrays r;
  for (const Array& a : arrays) r.push_back(trace.input(a.aval()));
  return r;
}

/// Any loop with a condition: both functions get the carried arrays and give arrays of the right
/// types.
Arrays build_while(std::string_view op, FunctionRef<Array(const Arrays&)> condition,
                   FunctionRef<Arrays(const Arrays&)> body, const Arrays& init, StepBound bound,
                   Loc loc) {
  if (bound.bounded() && bound.steps() < 0)
    usage_error(op,
                "max_steps is " + std::to_string(bound.steps()) +
                    " and cannot be negative; `unbounded` means no limit",
                loc);
  Trace::active(op, loc);
  std::array<Part, 2> parts;
  {
    Trace trace;
    trace.loc = loc;
    parts[0] = finish(trace, {condition(inputs_like(trace, init))});
  }
  {
    Trace trace;
    trace.loc = loc;
    parts[1] = finish(trace, body(inputs_like(trace, init)));
  }
  const std::array<Part*, 2> both{&parts[0], &parts[1]};
  const Arrays constants = share_captures(both, init.size());
  WhileParams p{share(std::move(parts[0].graph)), share(std::move(parts[1].graph)),
                static_cast<int>(init.size()), bound.bounded() ? bound.steps() : -1, 0};
  return emit_while(std::move(p), joined(init, constants), loc);
}

Arrays build_scan(FunctionRef<Arrays(const Arrays&)> body, const Arrays& init, const Arrays& xs,
                  Dim length, bool reverse, Loc loc) {
  Part part;
  {
    Trace trace;
    trace.loc = loc;
    Arrays inputs = inputs_like(trace, init);
    for (const Array& x : xs) inputs.push_back(trace.input({x.dtype(), x.shape().without(0)}));
    part = finish(trace, body(inputs));
  }
  ScanParams p{share(std::move(part.graph)), static_cast<int>(init.size()),
               static_cast<int>(xs.size()), length, reverse};
  return emit_scan(std::move(p), joined(joined(init, xs), part.captures), loc);
}

}  // namespace

Array number(const Scalar& x, Loc loc) { return number_as(x, default_dtype(x), loc); }

std::vector<Array> run_while(FunctionRef<Array(std::span<const Array>)> condition, Body body,
                             const Arrays& init, const Texts& paths, StepBound bound, Loc loc) {
  check_start("while_loop", init, paths, loc);
  const auto holds = [&](const Arrays& carried) {
    const Array c = condition(carried);
    if (c.aval() != Aval{DType::boolean, {}})
      usage_error("while_loop",
                  "cond returns " + to_string(c.aval()) + " and must return bool[]; " +
                      (c.dtype() == DType::boolean ? "reduce it with gnomon::any or gnomon::all"
                                                   : "compare it with something"),
                  loc);
    return c;
  };
  const auto next = [&](const Arrays& carried) {
    return checked_carry("while_loop", init, paths, body(carried), loc);
  };
  return build_while("while_loop", holds, next, init, bound, loc);
}

std::vector<Array> run_fori(Dim lower, Dim upper, Body body, const Arrays& init, const Texts& paths,
                            Loc loc) {
  check_start("fori_loop", init, paths, loc);
  constexpr Dim most = 0x7fffffff;
  if (lower < -most || lower > most || upper < -most || upper > most)
    usage_error("fori_loop",
                "bounds " + std::to_string(lower) + " and " + std::to_string(upper) +
                    " do not fit into the i32 counter; count from 0 and add an offset",
                loc);
  Trace::active("fori_loop", loc);
  const auto step = [&](const Arrays& carried) {
    const Array next = lax::add(carried[0], 1.0, loc);
    return joined({next}, checked_carry("fori_loop", init, paths, body(carried), loc));
  };
  const Arrays start = joined({lax::scalar_integer(DType::i32, lower, loc)}, init);
  const Arrays end = build_scan(step, start, {}, std::max<Dim>(0, upper - lower), false, loc);
  return {end.begin() + 1, end.end()};
}

std::vector<Array> run_fori(const Operand& lower, const Operand& upper, Body body,
                            const Arrays& init, const Texts& paths, StepBound bound) {
  const Loc loc = lower.loc();
  check_start("fori_loop", init, paths, loc);
  std::optional<DType> dtype;
  for (const Operand* x : {&lower, &upper}) {
    const Aval found = x->is_array() ? x->array().aval() : Aval{default_dtype(x->scalar()), {}};
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
    return x.is_array() ? x.array() : number_as(x.scalar(), dtype.value_or(DType::i32), loc);
  };
  Trace::active("fori_loop", loc);
  const Array last = as_bound(upper);
  const auto holds = [&](const Arrays& carried) { return lax::lt(carried[0], last, loc); };
  const auto step = [&](const Arrays& carried) {
    const Array next = lax::add(carried[0], 1.0, loc);
    return joined({next}, checked_carry("fori_loop", init, paths, body(carried), loc));
  };
  const Arrays end =
      build_while("fori_loop", holds, step, joined({as_bound(lower)}, init), bound, loc);
  return {end.begin() + 1, end.end()};
}

std::vector<Array> run_scan(Body body, const Arrays& init, const Texts& paths, const Arrays& xs,
                            const Texts& x_paths, ScanOptions options, Loc loc) {
  check_start("scan", init, paths, loc);
  check_start("scan", xs, x_paths, loc);
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const auto path = quoted(x_paths[i]);
    if (xs[i].rank() == 0)
      usage_error("scan",
                  path + " is " + to_string(xs[i].aval()) +
                      " and has no leading axis to go along; capture it instead",
                  loc);
    const Dim n = xs[i].shape()[0], first = xs[0].shape()[0];
    if (n != first)
      usage_error("scan",
                  quoted(x_paths[0]) + " has leading axis " + std::to_string(first) + " but " +
                      path + " has " + std::to_string(n) + "; sequences have one length",
                  loc);
    if (options.length && n != *options.length)
      usage_error("scan",
                  "`length` is " + std::to_string(*options.length) + " but " + path +
                      " has leading axis " + std::to_string(n) +
                      "; leave `length` out, or slice the sequence",
                  loc);
  }
  if (xs.empty() && !options.length)
    usage_error("scan", "there is no sequence that says how many steps to take; give {.length = n}",
                loc);
  const Dim length = options.length ? *options.length : xs[0].shape()[0];
  if (length < 0)
    usage_error("scan", "`length` is " + std::to_string(length) + " and cannot be negative", loc);
  Trace::active("scan", loc);
  const auto step = [&](const Arrays& inputs) {
    const Returned r = body(inputs);
    return joined(checked_carry("scan", init, paths, r, loc), r.rows);
  };
  return build_scan(step, init, xs, length, options.reverse, loc);
}

std::size_t static_branch(std::string_view op, const Scalar& x, std::size_t branches, Loc loc) {
  if (op == "cond") return x.floating != 0 ? 1 : 0;
  if (x.kind == Scalar::Kind::floating)
    usage_error(op, "the index is a float and must be one integer", loc);
  return static_cast<std::size_t>(
      std::clamp<std::int64_t>(x.integer, 0, static_cast<std::int64_t>(branches) - 1));
}

void static_changed(std::string_view op, std::string_view before, std::string_view after,
                    const Texts& entered, const Texts& left, Loc loc) {
  std::size_t i = 0;
  while (i < entered.size() && i < left.size() && entered[i] == left[i]) ++i;
  const auto text = [&](const Texts& t) {
    return i < t.size() ? t[i] : std::string("a part is missing");
  };
  usage_error(op,
              text(entered) + " " + std::string(before) + " and " + text(left) + " " +
                  std::string(after) + "; only Arrays can change",
              loc);
}

namespace {

/// An i32 or bool index of rank 0.
Array branch_index(std::string_view op, const Array& index, std::size_t branches, Loc loc) {
  const bool choice = op == "cond";
  if (index.rank() > 0 || (!choice && !is_integer(index.dtype())))
    usage_error(
        op,
        choice
            ? "the predicate is " + to_string(index.aval()) +
                  " and must be one value; reduce it with gnomon::any or gnomon::all, or use where"
            : "the index is " + to_string(index.aval()) +
                  " and must be one integer; cast or reduce it",
        loc);
  if (choice) return lax::convert(index, DType::boolean, loc);
  if (index.dtype() == DType::i32) return index;
  // Other integers are clamped before they are cut to 32 bits.
  const Array last = lax::full_like(index, static_cast<double>(branches - 1), loc);
  const Array low = emit1(max_p, {}, {index, lax::zeros_like(index, loc)}, loc);
  return lax::convert(emit1(min_p, {}, {low, last}, loc), DType::i32, loc);
}

}  // namespace

std::vector<Array> run_branches(std::string_view op, const Operand& index,
                                std::span<const FunctionRef<Returned()>> branches,
                                FunctionRef<Texts()> paths) {
  const Loc loc = index.loc();
  Trace::active(op, loc);
  const Array which = branch_index(op, index.array(), branches.size(), loc);
  std::vector<Part> parts(branches.size());
  std::vector<std::optional<Scalar>> numbers(branches.size());
  for (std::size_t b = 0; b < branches.size(); ++b) {
    Trace trace;
    trace.loc = loc;
    const Returned r = branches[b]();
    numbers[b] = r.number;
    for (std::size_t i = 0; i < r.arrays.size(); ++i)
      if (r.arrays[i].empty())
        usage_error(op, "a branch returns an empty Array (moved from, or never assigned)", loc);
    if (!r.number) parts[b] = finish(trace, r.arrays);
  }

  // A C++ number takes the dtype of what other branches return.
  std::optional<DType> dtype;
  for (std::size_t b = 0; b < parts.size(); ++b)
    if (!numbers[b] && !parts[b].graph.outputs.empty())
      dtype = parts[b].graph.output_avals()[0].dtype;
  if (!dtype)
    for (const auto& x : numbers)
      if (x && !(dtype && fits(*x, *dtype))) dtype = default_dtype(*x);
  for (std::size_t b = 0; b < parts.size(); ++b) {
    if (!numbers[b]) continue;
    Trace trace;
    const DType t = fits(*numbers[b], *dtype) ? *dtype : default_dtype(*numbers[b]);
    parts[b] = finish(trace, {number_as(*numbers[b], t, loc)});
  }

  const std::vector<Aval> results = parts[0].graph.output_avals();
  const auto branch_name = [&](std::size_t b) {
    if (op == "cond") return std::string(b == 0 ? "when false" : "when true");
    return "in branch " + std::to_string(b);
  };
  for (std::size_t b = 1; b < parts.size(); ++b) {
    const std::vector<Aval> found = parts[b].graph.output_avals();
    GNOMON_CHECK(found.size() == results.size(),
                 "static parts are equal, so the arrays are as many");
    for (std::size_t i = 0; i < found.size(); ++i)
      if (found[i] != results[i])
        usage_error(op,
                    quoted(paths()[i]) + " is " + to_string(results[i]) + " " + branch_name(0) +
                        " and " + to_string(found[i]) + " " + branch_name(b) +
                        "; branches return one type",
                    loc);
  }
  if (results.empty()) return {};
  std::vector<Part*> pointers;
  for (Part& part : parts) pointers.push_back(&part);
  const Arrays constants = share_captures(pointers, 0);
  CondParams p;
  for (Part& part : parts) p.branches.push_back(share(std::move(part.graph)));
  return emit(cond_p, std::move(p), joined({which}, constants), loc);
}

}  // namespace gnomon::control
