// engine/library/estimate/blocks.h -- blocks of probes: where they come from, how they are
// multiplied batch by batch, and what a sample of numbers says.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "gnomon/control.h"
#include "gnomon/estimate/sampler.h"
#include "gnomon/ops.h"

namespace gnomon::estimate::detail {

using Arrays = std::vector<Array>;
using operators::Operator;
using operators::Space;

/// A block as one matrix [n, k], n the numbers of a vector.
Array flat(const Arrays& block, const Space&);
Arrays unflat(const Array& block, const Space&);
/// A X for X[n, k].
Array product(const Operator&, const Array& x, Loc);
/// x_i . y_i for every pair of vectors: [k].
Array dots(const Arrays& x, const Arrays& y, DType);
/// The same of matrices.
Array dots(const Array& x, const Array& y);
Arrays constant(const Arrays&);

/// k = size * count + rest.
struct Batches {
  Dim size = 0, count = 0, rest = 0;
  Dim total() const { return size * count + rest; }
};
/// `wanted` probes each, or as many as are cheap to keep; multiples of `together`.
Batches batches(Dim k, const Space&, Dim wanted, Dim together);

/// Where probes come from: a key, or the caller.
class Source {
 public:
  Source(const Sampler&, Key, const Space&);
  /// Throws UsageError unless they are a block of that space.
  Source(std::string_view op, const Probes&, const Space&, Loc);
  /// Block number `index` of `size` probes, counted in blocks of that size (a key: any other
  /// numbers give independent ones).
  Arrays block(const Operand& index, Dim size, Loc) const;
  /// What was given, or k drawn ones.
  Arrays all(Dim k, Loc) const;
  /// Those that were given.
  std::optional<Dim> given() const;
  /// As many probes at a time are not independent of each other.
  Dim together() const;
  bool rotation_invariant() const;
  const Space& space() const { return space_; }

 private:
  Space space_;
  Sampler sampler_;
  Key key_;
  Arrays given_;
};

/// Numbers [size] for each batch of probes, for all of them: [k].
template <class F>
Array samples(const Source& source, const Batches& b, const F& f, Loc loc) {
  Arrays parts;
  if (b.count == 1) {
    parts.push_back(f(source.block(0, b.size, loc)));
  } else if (b.count > 1) {
    const auto body = [&](const Array& none, const Array& index) {
      return std::pair{none, f(source.block(index, b.size, loc))};
    };
    const auto [none, rows] =
        scan(body, zeros({}, DType::i32), arange(b.count), ScanOptions{}, loc);
    parts.push_back(reshape(rows, {b.size * b.count}));
  }
  if (b.rest > 0) {
    // Of blocks this long the one that begins behind all others: of given probes the last ones.
    const Arrays last = source.given() ? source.all(b.total(), loc) : Arrays{};
    if (last.empty()) {
      parts.push_back(f(source.block(static_cast<std::int32_t>(b.count), b.rest, loc)));
    } else {
      Arrays end;
      for (const Array& a : last) end.push_back(slice_axis(a, -1, b.size * b.count, b.total()));
      parts.push_back(f(end));
    }
  }
  return parts.size() == 1 ? parts[0] : concatenate(parts);
}

/// The mean of independent numbers and how far off it is: NaN for one number. `together`: so many
/// at a time are not independent.
struct Mean {
  Array value, standard_error;
};
Mean mean_of(const Array& samples, Dim together = 1);

/// `error` with the mean of apart_ij apart_ji over all i != j added to its square.
Array with_covariance(const Array& error, const Array& apart);

/// The mean of numbers e_i[m], of which each has the right mean when the others' probes are held.
///
/// They are not independent: probe j is part of e_i. `two_left_out` gives f[m, m], f_ij for i
/// without probe j at all. Given the other probes, e_i - f_ij has mean 0 over probe i whatever j
/// is, and f_ij does not know j, so that of Cov(e_i, e_j) only E[(e_i - f_ij) (e_j - f_ji)] is
/// left: an estimate of the covariance without bias. The variance of the mean is s^2 / m plus that.
template <class F>
Mean mean_of_exchangeable(const Array& e, const F& two_left_out) {
  Mean result = mean_of(e);
  if (e.dim(0) < 2) return result;
  const Array apart = stop_gradient(expand_dims(e, 1) - two_left_out());
  result.standard_error = with_covariance(result.standard_error, apart);
  return result;
}

/// Throws UsageError unless k is positive.
void require_positive(std::string_view op, const char* name, Dim k, Loc);

}  // namespace gnomon::estimate::detail
