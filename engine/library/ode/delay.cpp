// engine/library/ode/delay.cpp -- steps that are remembered, and what they say of a time.
#include "gnomon/ode/delay.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/library/ode/method.h"
#include "engine/library/ode/search.h"
#include "gnomon/buffer.h"
#include "gnomon/indexing.h"
#include "gnomon/ops.h"

namespace gnomon::ode::detail {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

void Past::begin(const Request& r, const Array& t0, const Arrays& y0) {
  const auto fail = [&](const std::string& what) { usage_error("diffeqsolve", what, r.loc); };
  if (options_.delays.empty() && !options_.smallest)
    fail(
        "a DelayTerm names no delays; list them in DelayOptions::delays, or give a bound below "
        "them (smallest)");
  const auto require_delay = [&](const Operand& tau, const std::string& name) {
    if (tau.is_array()) {
      if (tau.array().rank() != 0)
        fail(name + " is " + to_string(tau.array().aval()) + "; delays are numbers");
    } else if (!(tau.scalar().floating > 0 && std::isfinite(tau.scalar().floating))) {
      fail(name + " is " + to_string(tau.scalar()) + "; delays are finite and above 0");
    }
  };
  for (std::size_t i = 0; i < delays(); ++i)
    require_delay(options_.delays[i], "delay " + std::to_string(i));
  if (options_.smallest) require_delay(*options_.smallest, "the smallest delay");
  if (!r.t0.is_array() && !r.t1.is_array() && r.t1.scalar().floating < r.t0.scalar().floating)
    fail("t1 is below t0; an equation that looks back is solved forward");
  if (options_.remembered < 0 || options_.remembered == 1)
    fail("DelayOptions remembers " + std::to_string(options_.remembered) +
         " steps; give 2 or more, or 0 for all");
  if (options_.remembered == 0 && !r.options.max_steps.bounded())
    fail(
        "all steps of a delay equation are remembered, and max_steps is `unbounded`; say how many "
        "there may be, or how many are remembered");
  const Arrays before = initial(t0);
  for (std::size_t i = 0; i < y0.size(); ++i)
    if (before.size() != y0.size() || before[i].aval() != y0[i].aval())
      fail("`" + r.paths[i] + "` is " + to_string(y0[i].aval()) +
           " and the initial function gives " +
           (i < before.size() ? to_string(before[i].aval()) : std::string("nothing")) +
           " for it; both have to be the same");
  rows_ = options_.remembered > 0 ? options_.remembered : r.options.max_steps.steps() + 1;
  dtype_ = t0.dtype();
  t0_ = t0;
  y0_ = y0;
  pieces_.reset();
  for (const Operand& tau : options_.delays) taus_.push_back(cast(tau, dtype_));
}

std::optional<double> Past::known_longest_step() const {
  double least = infinity;
  bool known = true;
  const auto look = [&](const Operand& tau) {
    known = known && !tau.is_array();
    if (!tau.is_array()) least = std::min(least, tau.scalar().floating);
  };
  for (const Operand& tau : options_.delays) look(tau);
  if (options_.smallest) look(*options_.smallest);
  return known ? std::optional(least) : std::nullopt;
}

Array Past::longest_step() const {
  if (const auto known = known_longest_step()) return full({}, *known, dtype_);
  Arrays all = taus_;
  if (options_.smallest) all.push_back(cast(*options_.smallest, dtype_));
  Array least = all[0];
  for (std::size_t i = 1; i < all.size(); ++i) least = minimum(least, all[i]);
  return least;
}

Arrays Past::breaks(int order) const {
  // Each way to have up to `order` delays: how often which one.
  std::vector<std::vector<int>> ways{{}};
  for (std::size_t i = 0; i < delays(); ++i) {
    std::vector<std::vector<int>> more;
    for (const auto& way : ways)
      for (int n = 0, used = std::accumulate(way.begin(), way.end(), 0); used + n <= order; ++n) {
        more.push_back(way);
        more.back().push_back(n);
      }
    ways = std::move(more);
  }
  const auto traced = [](const Operand& tau) { return tau.is_array(); };
  Arrays all;
  if (std::any_of(options_.delays.begin(), options_.delays.end(), traced)) {
    for (const auto& way : ways) {
      std::optional<Array> sum;
      for (std::size_t i = 0; i < delays(); ++i) {
        if (way[i] == 0) continue;
        const Array part = way[i] == 1 ? taus_[i] : static_cast<double>(way[i]) * taus_[i];
        sum = sum ? *sum + part : part;
      }
      if (sum) all.push_back(t0_ + *sum);
    }
    return all;
  }
  std::vector<double> sums;
  for (const auto& way : ways) {
    double sum = 0;
    for (std::size_t i = 0; i < delays(); ++i) sum += way[i] * options_.delays[i].scalar().floating;
    sums.push_back(sum);
  }
  std::sort(sums.begin(), sums.end());
  for (std::size_t i = 1; i < sums.size(); ++i)
    if (sums[i] - sums[i - 1] > 1e-12 * sums[i]) all.push_back(t0_ + full({}, sums[i], dtype_));
  return all;
}

PastPieces Past::first(std::size_t powers) const {
  const bool ring = options_.remembered > 0;
  const auto room = [&](const Shape& shape, DType dtype) {
    const Shape all = shape.with_inserted(0, rows_);
    return ring ? zeros(all, dtype) : buffer(all, dtype);
  };
  const Array none = zeros({}, DType::i32);
  PastPieces p{ones({}, DType::i32),
               room({}, dtype_).at(none).set(t0_),
               room({}, dtype_).at(none).set(1),
               {}};
  for (std::size_t k = 0; k <= powers; ++k) {
    p.powers.emplace_back();
    for (const Array& y : y0_)
      p.powers.back().push_back(
          room(y.shape(), y.dtype()).at(none).set(k == 0 ? y : zeros_like(y)));
  }
  return p;
}

void Past::hold(const PastPieces& pieces, const Array& end) {
  pieces_ = pieces;
  end_ = end;
}

Array Past::row(const Array& index) const {
  return options_.remembered > 0 ? index % static_cast<int>(rows_) : index;
}

PastPieces Past::with(PastPieces p, const Array& start, const Array& length, const Arrays& y,
                      const std::vector<Arrays>& powers, const std::optional<Array>& keep) const {
  // Behind the end nothing is written.
  Array at = row(p.count);
  if (keep) at = where(*keep, at, static_cast<int>(rows_));
  p.starts = p.starts.at(at).set(start);
  p.lengths = p.lengths.at(at).set(length);
  for (std::size_t k = 0; k < p.powers.size(); ++k)
    for (std::size_t i = 0; i < y.size(); ++i)
      p.powers[k][i] = p.powers[k][i].at(at).set(k == 0 ? y[i] : powers[k - 1][i]);
  p.count = p.count + (keep ? cast(*keep, DType::i32) : ones({}, DType::i32));
  return p;
}

Array Past::oldest(const PastPieces& p) const {
  return maximum(p.count - static_cast<int>(rows_), 0);
}

Array Past::lost(const PastPieces& p, const Array& t) const {
  Array longest = taus_[0];
  for (const Array& tau : taus_) longest = maximum(longest, tau);
  const Array first = oldest(p);
  return first > 0 && p.starts[row(first)] > t - longest;
}

Arrays Past::at(const Operand& when) const {
  const Array t = cast(when, dtype_);
  const Array is_before = t < t0_;
  // Neither function is asked for what is beyond it: a derivative would find it there.
  const Arrays before = initial(where(is_before, t, t0_));
  Arrays after = y0_;
  if (pieces_) {
    const PastPieces& p = *pieces_;
    const Array x = where(is_before, t0_, t);
    // The last piece that begins at or before x.
    const Array first = oldest(p);
    const Array index =
        last_before(x, first, p.count, rows_, [&](const Array& i) { return p.starts[row(i)]; });
    const Array at = row(index);
    const Array theta = (x - p.starts[at]) / p.lengths[at];
    // Time rounds, and steps may be as long as a delay.
    const double eps = dtype_ == DType::f64 ? std::numeric_limits<double>::epsilon()
                                            : std::numeric_limits<float>::epsilon();
    Array known = x <= end_ + 256 * eps * (abs(end_) + abs(t0_));
    if (options_.remembered > 0) known = known && (first == 0 || p.starts[row(first)] <= x);
    for (std::size_t i = 0; i < after.size(); ++i) {
      const Array u = cast(theta, y0_[i].dtype());
      Array sum = p.powers.back()[i][at];
      for (std::size_t k = p.powers.size() - 1; k-- > 0;) sum = p.powers[k][i][at] + u * sum;
      after[i] = where(known, sum, std::numeric_limits<double>::quiet_NaN());
    }
  }
  return choose(is_before, before, after);
}

}  // namespace gnomon::ode::detail
