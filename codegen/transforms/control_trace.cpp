// codegen/transforms/control_trace.cpp -- tracing the functions that loops and branches are given.
#include "codegen/transforms/control_trace.h"

#include <algorithm>
#include <array>

#include "codegen/graph/effects.h"
#include "codegen/lax/align.h"
#include "codegen/lax/lax.h"

namespace gnomon::control {

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

Array number_as(std::string_view op, const Scalar& x, DType t, Loc loc) {
  return align::in_dtype(op, Operand(x, loc), t);
}

std::string quoted(const std::string& path) { return "`" + path + "`"; }

Part finish(Trace& trace, const Arrays& outputs) {
  Graph graph = trace.finish(outputs);
  return {std::move(graph), std::move(trace.captures)};
}

namespace {

bool same_array(const Array& a, const Array& b) {
  if (a.concrete() || b.concrete()) return a.storage() == b.storage();
  return a.trace_serial() == b.trace_serial() && a.value() == b.value();
}

}  // namespace

Arrays share_captures(std::span<Part* const> parts, std::size_t own) {
  return share_captures(parts, std::vector<std::size_t>(parts.size(), own));
}

Arrays share_captures(std::span<Part* const> parts, std::span<const std::size_t> own) {
  Arrays all;
  for (const Part* part : parts)
    for (const Array& a : part->captures)
      if (std::none_of(all.begin(), all.end(), [&](const Array& b) { return same_array(a, b); }))
        all.push_back(a);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const Part* part = parts[p];
    Graph& g = parts[p]->graph;
    const std::vector<ValueId> inputs = g.inputs;
    g.inputs.resize(own[p]);
    for (const Array& a : all) {
      const auto found = std::find_if(part->captures.begin(), part->captures.end(),
                                      [&](const Array& b) { return same_array(a, b); });
      const auto at = own[p] + static_cast<std::size_t>(found - part->captures.begin());
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
    const Aval found{align::default_dtype(r.number->kind), {}};
    if (want.shape.rank() > 0) changed(0, to_string(found), true);
    if (!fits(*r.number, want.dtype)) changed(0, to_string(found), false);
    return {number_as(op, *r.number, want.dtype, loc)};
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

Kept kept_by(std::string_view op, LoopKind kind, Checkpoints checkpoints, std::optional<Dim> bound,
             Loc loc) {
  const std::string of_kind = "a loop of kind `" + std::string(name(kind)) + "`";
  if (kind != LoopKind::checkpointed) {
    if (checkpoints.given())
      usage_error(op, of_kind + " takes no `checkpoints`; say {.kind = LoopKind::checkpointed}",
                  loc);
    if (!bound && (kind == LoopKind::bounded || kind == LoopKind::stored))
      usage_error(op,
                  of_kind +
                      " needs a bound, and this one may take any number of steps; give it "
                      "{.max_steps = n}, or {.kind = LoopKind::checkpointed, .checkpoints = n}",
                  loc);
    return {kind, 0};
  }
  if (bound && *bound > 0x7fffffff)
    usage_error(op,
                "max_steps is " + std::to_string(*bound) +
                    " and steps of checkpointed loops are counted in i32; bound it by less",
                loc);
  if (!bound && (!checkpoints.given() || checkpoints.every()))
    usage_error(op,
                of_kind +
                    " has neither a bound nor a number of checkpoints; give it {.max_steps = "
                    "n} or {.checkpoints = n}",
                loc);
  if (!checkpoints.given()) return {kind, default_checkpoints(*bound)};
  if (checkpoints.every()) return {kind, std::max<Dim>(1, *bound)};
  if (checkpoints.count() < 1)
    usage_error(op,
                "`checkpoints` is " + std::to_string(checkpoints.count()) +
                    " and must be at least 1: the start of the loop is one of them",
                loc);
  return {kind, std::max<Dim>(1, std::min(checkpoints.count(), bound.value_or(0x7fffffff)))};
}

Arrays build_while(std::string_view op, FunctionRef<Array(const Arrays&)> condition,
                   FunctionRef<Arrays(const Arrays&)> body, const Arrays& init,
                   const WhileOptions& options, Loc loc) {
  const StepBound& bound = options.max_steps;
  if (bound.bounded() && bound.steps() < 0)
    usage_error(op,
                "max_steps is " + std::to_string(bound.steps()) +
                    " and cannot be negative; `unbounded` means no limit",
                loc);
  const Kept kept = kept_by(op, options.kind, options.checkpoints,
                            bound.bounded() ? std::optional(bound.steps()) : std::nullopt, loc);
  std::array<Part, 2> parts;
  {
    Trace trace;
    trace.loc = loc;
    parts[0] = finish(trace, {condition(inputs_like(trace, init))});
    if (has_effects(parts[0].graph))
      usage_error(op,
                  "the condition prints or checks something; do that in the body, which gets the "
                  "same values",
                  loc);
  }
  {
    Trace trace;
    trace.loc = loc;
    parts[1] = finish(trace, body(inputs_like(trace, init)));
  }
  const std::array<Part*, 2> both{&parts[0], &parts[1]};
  const Arrays constants = share_captures(both, init.size());
  WhileParams p{share(std::move(parts[0].graph)),
                share(std::move(parts[1].graph)),
                static_cast<int>(init.size()),
                bound.bounded() ? bound.steps() : -1,
                0,
                kept.kind,
                kept.checkpoints};
  return emit_while(std::move(p), joined(init, constants), loc);
}

Arrays build_scan(FunctionRef<Arrays(const Arrays&)> body, const Arrays& init, const Arrays& xs,
                  Dim length, bool reverse, Loc loc, Kept kept) {
  Part part;
  {
    Trace trace;
    trace.loc = loc;
    Arrays inputs = inputs_like(trace, init);
    for (const Array& x : xs) inputs.push_back(trace.input({x.dtype(), x.shape().without(0)}));
    part = finish(trace, body(inputs));
  }
  ScanParams p{share(std::move(part.graph)),
               static_cast<int>(init.size()),
               static_cast<int>(xs.size()),
               length,
               reverse,
               kept.kind,
               kept.checkpoints};
  return emit_scan(std::move(p), joined(joined(init, xs), part.captures), loc);
}

Array number(const Scalar& x, Loc loc) { return align::as_array("loop", Operand(x, loc)); }

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

}  // namespace gnomon::control
