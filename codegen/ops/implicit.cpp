// codegen/ops/implicit.cpp -- what gnomon/implicit.h does with arrays once trees are taken
// apart.
#include "gnomon/implicit.h"

#include "codegen/lax/lax.h"
#include "codegen/operations/calls.h"
#include "codegen/trace/trace.h"
#include "codegen/transforms/control_graphs.h"

namespace gnomon::detail {

Arrays emit_linear_solve(Piece matvec, Piece solve, std::vector<Piece> transpose_solve,
                         const Arrays& b, Loc loc) {
  for (const Array& a : b)
    if (!is_float(a.dtype()))
      usage_error("custom_linear_solve",
                  "b holds a " + to_string(a.aval()) + ", and linear systems are of floats", loc);
  std::vector<Piece*> pieces{&solve, &matvec};
  for (Piece& p : transpose_solve) pieces.push_back(&p);
  std::vector<Graph> graphs;
  const Arrays captures = shared_captures(pieces, graphs);
  LinearSolveParams p;
  p.size = static_cast<int>(b.size());
  p.solve = control::share(graphs[0]);
  p.matvec = control::share(graphs[1]);
  for (std::size_t i = 2; i < graphs.size(); ++i)
    p.transpose_solve.push_back(control::share(graphs[i]));
  return emit(custom_linear_solve_p, p, control::joined(b, captures), loc);
}

Array still_moves(const Arrays& x, const Arrays& next, double relative, double absolute, Loc loc) {
  std::optional<Array> any;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!is_float(x[i].dtype())) continue;
    const Array change = lax::unary(abs_p, lax::sub(next[i], x[i], loc), loc),
                size = lax::unary(abs_p, next[i], loc);
    const Array allowed = lax::add(lax::mul(size, relative, loc), absolute, loc);
    std::vector<int> axes;
    for (int a = 0; a < change.rank(); ++a) axes.push_back(a);
    const Array far = lax::convert(lax::lt(allowed, change, loc), DType::i32, loc);
    const Array here = lax::sum(far, axes, loc);
    any = any ? lax::add(*any, here, loc) : here;
  }
  if (!any) return lax::full({DType::boolean, {}}, absolute < 0 ? 1 : 0, loc);
  return lax::lt(lax::scalar(DType::i32, 0, loc), *any, loc);
}

Arrays apply_at(const Graph& graph, const Arrays& x, const Arrays& constants) {
  return inline_graph(graph, control::joined(x, constants));
}

Array negative(const Array& a, Loc loc) { return lax::neg(a, loc); }

}  // namespace gnomon::detail
