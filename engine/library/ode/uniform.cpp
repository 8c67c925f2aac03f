// engine/library/ode/uniform.cpp -- a scan over equal steps, or over their stages.
#include "engine/library/ode/uniform.h"

#include <algorithm>

#include "gnomon/buffer.h"
#include "gnomon/indexing.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"

namespace gnomon::ode::detail {
namespace {

/// Operations of a field for each number of the state from which on its stages are a loop: four
/// fields one behind the other, and what goes back through them, take compilers seconds, and more
/// registers than there are. A network of one hidden layer of eight units has as many.
constexpr double looped_stages = 64;

Array in_dtype_of(const Array& x, const Array& a) {
  return x.dtype() == a.dtype() ? x : cast(x, a.dtype());
}

/// The stages that the weights of a step look at.
class Stages {
 public:
  explicit Stages(const Tableau& t) {
    const std::size_t all = t.b.size();
    std::vector<bool> used(all);
    for (std::size_t i = all; i-- > 0;) {
      used[i] = t.b[i] != 0;
      for (std::size_t later = i + 1; later < all; ++later)
        used[i] = used[i] || (used[later] && t.a[later - 1][i] != 0);
    }
    std::vector<std::size_t> which;
    for (std::size_t i = 0; i < all; ++i)
      if (used[i] || i == 0) which.push_back(i);
    for (std::size_t i : which) {
      c.push_back(i == 0 ? 0 : t.c[i - 1]);
      b.push_back(t.b[i]);
      std::vector<double>& row = a.emplace_back();
      for (std::size_t j : which) row.push_back(j < i ? t.a[i - 1][j] : 0);
    }
  }

  std::size_t size() const { return b.size(); }
  /// Whether every stage looks at the one before it and no other.
  bool is_chain() const {
    for (std::size_t i = 0; i < size(); ++i)
      for (std::size_t j = 0; j < size(); ++j)
        if (a[i][j] != 0 && j + 1 != i) return false;
    return true;
  }

  std::vector<double> c, b;
  std::vector<std::vector<double>> a;  // square
};

/// What savers that keep steps make of a state.
Arrays kept(const Uniform& u, const Array& t, const Arrays& y) {
  Arrays all;
  for (const Saver& saver : u.savers)
    if (saver.in_loop())
      for (const Array& a : saver.values(t, y)) all.push_back(a);
  return all;
}

/// Rows of all savers to those of each.
std::vector<Arrays> by_saver(const Uniform& u, const Arrays& rows) {
  std::vector<Arrays> r;
  std::size_t at = 0;
  for (const Saver& saver : u.savers) {
    Arrays& mine = r.emplace_back();
    if (!saver.in_loop()) continue;
    const std::size_t count = saver.values(u.t0, u.request.y0).size();
    for (std::size_t i = 0; i < count; ++i) mine.push_back(rows.at(at++));
  }
  return r;
}

Array begins_of(const Uniform& u) {
  const Dim n = u.ends.dim(0);
  return n == 1 ? reshape(u.t0, {1})
                : concatenate({reshape(u.t0, {1}), slice_axis(u.ends, 0, 0, n - 1)});
}

UniformStates by_steps(const Uniform& u) {
  struct Row {
    Arrays times;  // its begin and end, or nothing
    Array index;
  };
  struct Carry {
    Arrays y, method;
  };
  const auto step = [&](const Carry& c, const Row& row) {
    const Array begin =
        u.equal ? where(row.index == 0, u.t0, u.equal->end(row.index - 1)) : row.times[0];
    const Array end = u.equal ? u.equal->end(row.index) : row.times[1];
    Stepped s = u.method.step(u.fields, {begin, end, end - begin, row.index}, c.y, c.method);
    Arrays rows = kept(u, end, s.y1);
    return std::pair{Carry{std::move(s.y1), std::move(s.state)}, std::move(rows)};
  };
  const auto [last, rows] =
      scan(step, Carry{u.request.y0, u.begun},
           Row{u.equal ? Arrays{} : Arrays{begins_of(u), u.ends}, iota({u.ends.dim(0)}, 0)},
           ScanOptions{.kind = u.kind, .checkpoints = u.checkpoints}, u.request.loc);
  const Dim evaluations =
      u.method.evaluations_to_begin() + u.ends.dim(0) * u.method.evaluations_per_step();
  return {last.y, u.ends, evaluations, by_saver(u, rows), last.method};
}

UniformStates by_stages(const Uniform& u, const Stages& table) {
  const Dim n = u.ends.dim(0), s = static_cast<Dim>(table.size());
  const DType dtype = u.ends.dtype();
  const bool chain = table.is_chain();

  // Of a trip: the step's time and length, the stage's row of the table.
  struct Row {
    Array begin, end, c, weight, share, stage, last;
  };
  struct Carry {
    Arrays y, sum;
    Arrays slopes;  // the one before, or [stages, ..]
  };
  const auto of_steps = [&](const Array& x) {
    return reshape(broadcast_to(reshape(x, {n, 1}), {n, s}), {n * s});
  };
  const auto of_stages = [&](const Array& x) {
    const Shape rest = x.shape().without(0);
    Shape all = rest.with_inserted(0, s).with_inserted(0, n);
    return reshape(broadcast_to(reshape(x, rest.with_inserted(0, s).with_inserted(0, 1)), all),
                   rest.with_inserted(0, n * s));
  };
  const auto numbers = [&](const std::vector<double>& x) { return array_of(Times(x), dtype); };
  std::vector<double> weights;
  for (std::size_t i = 0; i < table.size(); ++i)
    for (std::size_t j = 0; j < table.size(); ++j)
      if (!chain || j + 1 == std::max<std::size_t>(i, 1)) weights.push_back(table.a[i][j]);
  const Array stage = iota({s}, 0);
  const Row rows{of_steps(begins_of(u)),
                 of_steps(u.ends),
                 of_stages(numbers(table.c)),
                 of_stages(chain ? numbers(weights) : reshape(numbers(weights), {s, s})),
                 of_stages(numbers(table.b)),
                 of_stages(stage),
                 of_stages(stage == s - 1)};

  const auto trip = [&](const Carry& c, const Row& row) {
    const Array h = row.end - row.begin;
    Arrays at;
    for (std::size_t i = 0; i < c.y.size(); ++i) {
      const Array& y = c.y[i];
      if (chain) {
        at.push_back(y + in_dtype_of(h * row.weight, y) * c.slopes[i]);
        continue;
      }
      std::optional<Array> sum;
      for (Dim j = 0; j + 1 < s; ++j) {
        const Array w = in_dtype_of(reshape(slice_axis(row.weight, 0, j, j + 1), {}), y);
        const Array k = reshape(slice_axis(c.slopes[i], 0, j, j + 1), y.shape());
        sum = sum ? *sum + w * k : w * k;
      }
      at.push_back(sum ? y + in_dtype_of(h, y) * *sum : y);
    }
    const Array t = where(row.c == 1, row.end, row.begin + row.c * h);
    const Arrays slope = u.fields(0, t, at);
    Carry next;
    for (std::size_t i = 0; i < c.y.size(); ++i) {
      const Array sum = c.sum[i] + in_dtype_of(row.share, slope[i]) * slope[i];
      next.y.push_back(where(row.last, c.y[i] + in_dtype_of(h, sum) * sum, c.y[i]));
      next.sum.push_back(where(row.last, zeros_like(sum), sum));
      next.slopes.push_back(chain ? slope[i] : c.slopes[i].at(row.stage).set(slope[i]));
    }
    Arrays seen = kept(u, row.end, next.y);
    return std::pair{std::move(next), std::move(seen)};
  };
  Carry start{u.request.y0, {}, {}};
  for (const Array& y : u.request.y0) {
    start.sum.push_back(zeros_like(y));
    start.slopes.push_back(chain ? zeros_like(y) : zeros(y.shape().with_inserted(0, s), y.dtype()));
  }
  const auto [last, all] =
      scan(trip, std::move(start), rows, ScanOptions{.kind = u.kind, .checkpoints = u.checkpoints},
           u.request.loc);
  Arrays ends;
  for (const Array& a : all) ends.push_back(slice_axis(a, 0, s - 1, n * s, s));
  return {last.y, u.ends, n * s, by_saver(u, ends)};
}

bool is_large(const Uniform& u) {
  double numbers = 0;
  for (const Array& a : u.request.y0) numbers += static_cast<double>(a.size());
  const double operations = count_operations(
      [&](const Array& t, const Arrays& y) { return u.fields(0, t, y); }, u.t0, u.request.y0);
  return operations > looped_stages * std::max(1.0, numbers);
}

}  // namespace

UniformStates step_uniformly(const Uniform& u) {
  const Tableau* table = u.method.table();
  if (table != nullptr && table->stages() > 1 && is_large(u)) return by_stages(u, Stages(*table));
  return by_steps(u);
}

}  // namespace gnomon::ode::detail
