// engine/include/gnomon/estimate/sampler.h -- random probes: vectors z with E[z z^T] = 1.
//
// A block of probes has them along a last axis, as the blocks that operators multiply do: for
// vectors f32[n] it is f32[n, k].
#pragma once
#include <variant>
#include <vector>

#include "gnomon/operators/operator.h"
#include "gnomon/random.h"
#include "gnomon/tree.h"

#pragma GCC visibility push(default)
namespace gnomon::estimate {

/// Every number -1 or 1. Of all independent numbers those of least variance for traces: exact for
/// diagonal matrices. Source: M. Hutchinson, Commun. Statist. Simul. 18 (1989).
struct Rademacher {};

/// Independent standard normal numbers. Rotations make no difference to them.
struct Normal {};

/// Directions with equal probability, of length sqrt(n). As Normal without the variance of the
/// length.
struct Sphere {};

/// Numbers that are sqrt(s) or -sqrt(s) with probability 1 / (2 s) each, else 0: on average one in
/// `s` is not 0. s = 1 is Rademacher. Throws UsageError for s below 1.
/// Source: D. Achlioptas, Database-friendly random projections, J. Comput. Syst. Sci. 66 (2003).
struct SparseSigns {
  double s = 3;
};

/// Blocks of `size` directions at right angles to each other, of length sqrt(n); blocks are
/// independent of each other. n of them make an exact trace. Not for XTrace, XNysTrace and XDiag,
/// which leave each probe out of the others and throw UsageError for probes that are not
/// independent.
///
/// Costs 2 n size operations a probe more than Sphere. Standard errors need two blocks or more.
/// Source: F. Mezzadri, How to Generate Random Matrices from the Classical Compact Groups, Notices
/// of the AMS 54 (2007).
struct OrthogonalBlocks {
  Dim size = 16;
};

using Sampler = std::variant<Rademacher, Normal, Sphere, SparseSigns, OrthogonalBlocks>;

/// `k` probes for the vectors of an operator's space: for every array f[n, ...] of it one
/// f[n, ..., k]. Throws UsageError unless k is positive.
std::vector<Array> draw(const Sampler&, Key key, const operators::Space&, Dim k,
                        Loc loc = Loc::here());

/// Probes that the caller made: a block, the tree that the operator takes with one more axis, the
/// last. Unchecked: that they are random; the estimates are only as good as that.
class Probes {
 public:
  template <class X>
  explicit Probes(const X& block) : arrays_(tree::leaves(block)) {}
  const std::vector<Array>& arrays() const { return arrays_; }

 private:
  std::vector<Array> arrays_;
};

}  // namespace gnomon::estimate
#pragma GCC visibility pop
