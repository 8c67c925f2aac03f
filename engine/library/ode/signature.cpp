// engine/library/ode/signature.cpp -- signatures by Chen's identity, their logarithms, and what of
// these is independent.
#include "gnomon/ode/signature.h"

#include "gnomon/cumulative.h"
#include "gnomon/indexing.h"
#include "gnomon/ops.h"

namespace gnomon::ode {
namespace {

void check_depth(const char* name, Dim channels, int depth, Loc loc) {
  if (depth < 1 || depth > 3)
    usage_error(name, "depth is " + std::to_string(depth) + "; it is 1, 2 or 3", loc);
  if (channels < 1)
    usage_error(name, "there are " + std::to_string(channels) + " channels; give one or more", loc);
}

/// a_i b_j over the last axes, which become one.
Array outer(const Array& a, const Array& b) {
  Shape left = a.shape(), right = b.shape(), joined = a.shape();
  const int last = a.rank() - 1;
  left = left.with_inserted(last + 1, 1);
  right = right.with_inserted(last, 1);
  joined[last] = a.dim(-1) * b.dim(-1);
  return reshape(reshape(a, left) * reshape(b, right), joined);
}

/// Sums of what is in front of each element of axis 1.
Array before(const Array& x) { return cumsum(x, 1) - x; }

/// sum over s of a[w, s, i] b[w, s, j] as [w, i j].
Array summed_product(const Array& a, const Array& b) {
  return reshape(matmul(swapaxes(a, 1, 2), b), {a.dim(0), a.dim(2) * b.dim(2)});
}

/// By windows: steps [windows, steps, channels] -> [windows, words].
Array of_steps(const Array& dx, int depth, Loc loc) {
  const Dim d = dx.dim(2);
  const Array one = sum(dx, 1);
  std::vector<Array> parts{one};
  if (depth >= 2) {
    // Behind a step by v a signature S is S (1 + v + v v / 2 + v v v / 6).
    const Array start = before(dx);
    const Array two = summed_product(start + 0.5 * dx, dx);
    const Array log2 = two - 0.5 * outer(one, one);
    std::vector<Array> logs{log2};
    if (depth == 3) {
      const Array inner =
          before(outer(start + 0.5 * dx, dx)) + outer(0.5 * start + (1.0 / 6) * dx, dx);
      const Array three = summed_product(inner, dx);
      logs.push_back(three - 0.5 * (outer(one, two) + outer(two, one)) +
                     (1.0 / 3) * outer(outer(one, one), one));
    }
    std::vector<std::int32_t> at[2], also;
    std::vector<float> counts;
    for (const std::vector<int>& w : lyndon_words(d, depth, loc)) {
      const auto row = [&](std::size_t i) { return static_cast<std::int32_t>(w[i]); };
      const auto n = static_cast<std::int32_t>(d);
      if (w.size() == 2) at[0].push_back(row(0) * n + row(1));
      if (w.size() != 3) continue;
      at[1].push_back((row(0) * n + row(1)) * n + row(2));
      // [e_i, [e_j, e_k]] has -1 of ikj, which [[e_i, e_k], e_j] has to make up for.
      also.push_back((row(0) * n + row(2)) * n + row(1));
      counts.push_back(row(0) < row(2) && row(2) < row(1) ? 1.0f : 0.0f);
    }
    const auto chosen = [](const Array& log, const std::vector<std::int32_t>& index) {
      return log.at(every, array(index)).get();
    };
    if (!at[0].empty()) parts.push_back(chosen(logs[0], at[0]));
    if (depth == 3 && !at[1].empty())
      parts.push_back(chosen(logs[1], at[1]) +
                      cast(array(counts), dx.dtype()) * chosen(logs[1], also));
  }
  return concatenate(parts, 1);
}

Array steps_of(const char* name, const Operand& path, int depth) {
  const Loc loc = path.loc();
  if (!path.is_array() || path.array().rank() != 2 || path.array().dim(0) < 2 ||
      !is_float(path.array().dtype()))
    usage_error(name,
                "the path is " + (path.is_array() ? to_string(path.array().aval()) : "a number") +
                    "; give floats [times, channels] of two times or more",
                loc);
  const Array& x = path.array();
  check_depth(name, x.dim(1), depth, loc);
  return slice_axis(x, 0, 1, x.dim(0)) - slice_axis(x, 0, 0, x.dim(0) - 1);
}

}  // namespace

std::vector<std::vector<int>> lyndon_words(Dim channels, int depth, Loc loc) {
  check_depth("ode::lyndon_words", channels, depth, loc);
  const int d = static_cast<int>(channels);
  std::vector<std::vector<int>> words;
  for (int i = 0; i < d; ++i) words.push_back({i});
  if (depth >= 2)
    for (int i = 0; i < d; ++i)
      for (int j = i + 1; j < d; ++j) words.push_back({i, j});
  if (depth == 3)
    for (int i = 0; i < d; ++i)
      for (int j = i; j < d; ++j)
        for (int k = i + 1; k < d; ++k) words.push_back({i, j, k});
  return words;
}

Array log_signature(Operand path, int depth) {
  const Array dx = steps_of("ode::log_signature", path, depth);
  return of_steps(reshape(dx, {1, dx.dim(0), dx.dim(1)}), depth, path.loc())[0];
}

Array log_signatures(Operand path, int depth, Dim window) {
  Array dx = steps_of("ode::log_signatures", path, depth);
  if (window < 1)
    usage_error("ode::log_signatures",
                "windows have " + std::to_string(window) + " steps; give one or more", path.loc());
  const Dim windows = (dx.dim(0) + window - 1) / window, lacking = windows * window - dx.dim(0);
  // A step to where the path is already changes nothing.
  if (lacking > 0) dx = concatenate({dx, zeros({lacking, dx.dim(1)}, dx.dtype())});
  return of_steps(reshape(dx, {windows, window, dx.dim(1)}), depth, path.loc());
}

}  // namespace gnomon::ode
