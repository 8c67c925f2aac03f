// codegen/ops/control_branches.cpp -- branches from traced functions: what gnomon/control.h
// leaves untyped.
#include <algorithm>
#include <array>

#include "codegen/graph/effects.h"
#include "codegen/lax/align.h"
#include "codegen/lax/lax.h"
#include "codegen/lax/positions.h"
#include "codegen/trace/eager.h"
#include "codegen/transforms/control_trace.h"

namespace gnomon::control {

std::size_t static_branch(std::string_view op, const Scalar& x, std::size_t branches, Loc loc) {
  if (op == "cond") return x.floating != 0 ? 1 : 0;
  if (x.kind == Scalar::Kind::floating)
    usage_error(op, "the index is a float and must be one integer", loc);
  return static_cast<std::size_t>(
      std::clamp<std::int64_t>(x.integer, 0, static_cast<std::int64_t>(branches) - 1));
}

namespace {

/// An i32 or bool index of rank 0.
Array branch_index(std::string_view op, const Array& index, Loc loc) {
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
  return positions::cut_to_i32(index, loc);
}

}  // namespace

std::vector<Array> run_branches(std::string_view op, const Operand& index,
                                std::span<const FunctionRef<Returned()>> branches,
                                FunctionRef<Texts()> paths) {
  const Loc loc = index.loc();
  return at_once(op, loc, [&]() -> Arrays {
    const Array which = branch_index(op, index.array(), loc);
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
      parts[b] = finish(trace, r.arrays);  // of a branch that gives a number, its statements
    }

    // A C++ number takes the dtype of what other branches return.
    std::optional<DType> dtype;
    for (std::size_t b = 0; b < parts.size(); ++b)
      if (!numbers[b] && !parts[b].graph.outputs.empty())
        dtype = parts[b].graph.output_avals()[0].dtype;
    if (!dtype)
      for (const auto& x : numbers)
        if (x && !(dtype && fits(*x, *dtype))) dtype = align::default_dtype(x->kind);
    for (std::size_t b = 0; b < parts.size(); ++b) {
      if (!numbers[b]) continue;
      Trace trace;
      const DType t = fits(*numbers[b], *dtype) ? *dtype : align::default_dtype(numbers[b]->kind);
      inline_graph(parts[b].graph, parts[b].captures);
      parts[b] = finish(trace, {number_as(op, *numbers[b], t, loc)});
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
    const bool runs = std::any_of(parts.begin(), parts.end(),
                                  [](const Part& part) { return has_effects(part.graph); });
    if (results.empty() && !runs) return {};
    std::vector<Part*> pointers;
    for (Part& part : parts) pointers.push_back(&part);
    const Arrays constants = share_captures(pointers, 0);
    CondParams p;
    for (Part& part : parts) p.branches.push_back(share(std::move(part.graph)));
    return emit(cond_p, std::move(p), joined({which}, constants), loc);
  });
}

}  // namespace gnomon::control
