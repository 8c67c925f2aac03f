// shaders/library/panels.cpp -- a panel of either side, a barrier, the products, a barrier.
#include "shaders/library/panels.h"

namespace gnomon::kernel {
namespace {

/// One side's panel in shared memory: element (which, n) lies at n * stride + which.
class Panel {
 public:
  Panel(Builder& k, const Panels& p, const PanelSide& side, std::uint32_t width, DType dtype)
      : panels_(p),
        side_(side),
        width_(width),
        // Elements that are written side by side along the sum fall into different banks; four
        // neighbours stay one access.
        stride_(side.along_sum ? width + 4 : width),
        dtype_(dtype),
        array_(k.shared_array({dtype, p.depth * stride_})) {}

  /// Positions first to first + depth - 1 of the sum, of which those below `length` exist.
  void fill(Builder& k, Value first, std::uint64_t length) const {
    const std::uint32_t elements = width_ * panels_.depth, group = panels_.group();
    const Value local = k.source(Op::local_index);
    for (std::uint32_t done = 0; done < elements; done += group) {
      const Value e = k.add(local, k.u32(done));
      const auto one = [&] {
        const Value inner = k.u32(side_.along_sum ? panels_.depth : width_);
        const Value fast = k.rem(e, inner), slow = k.div(e, inner);
        const Value which = side_.along_sum ? slow : fast, n = side_.along_sum ? fast : slow;
        k.shared_store(array_, k.add(k.mul(n, k.u32(stride_)), which),
                       element(k, which, k.add(first, n), length));
        return Values{};
      };
      if (done + group <= elements)
        one();
      else
        k.if_(k.compare(Op::lt, e, k.u32(elements)), one, [] { return Values{}; });
    }
  }

  Value get(Builder& k, std::uint32_t n, Value which) const {
    return k.shared_load(array_, k.add(k.u32(n * stride_), which));
  }

 private:
  Value element(Builder& k, Value which, Value n, std::uint64_t length) const {
    if (length % panels_.depth == 0) return side_.load(which, n);
    const Value end = k.u32(static_cast<std::uint32_t>(length));
    const Value x = side_.load(which, k.binary(Op::minimum, n, k.sub(end, k.u32(1))));
    return k.select(k.compare(Op::lt, n, end), x, k.number(dtype_, 0));
  }

  const Panels& panels_;
  const PanelSide& side_;
  std::uint32_t width_, stride_;
  DType dtype_;
  std::uint32_t array_;
};

Values own(Builder& k, Value which, std::uint32_t count) {
  const Value first = k.mul(which, k.u32(count));
  Values r;
  for (std::uint32_t i = 0; i < count; ++i) r.push_back(k.add(first, k.u32(i)));
  return r;
}

}  // namespace

Values Panels::own_rows(Builder& k) const {
  return own(k, k.div(k.source(Op::local_index), k.u32(across)), rows);
}
Values Panels::own_columns(Builder& k) const {
  return own(k, k.rem(k.source(Op::local_index), k.u32(across)), columns);
}

Values multiply(Builder& k, const Panels& p, std::uint64_t length, DType dtype,
                const PanelSide& left, const PanelSide& right) {
  const Panel a(k, p, left, p.block_rows(), dtype), b(k, p, right, p.block_columns(), dtype);
  const Values rows = p.own_rows(k), columns = p.own_columns(k);
  const std::uint64_t trips = (length + p.depth - 1) / p.depth;
  const Values zero(rows.size() * columns.size(), k.number(dtype, 0));
  return k.count_loop(k.u32(static_cast<std::uint32_t>(trips)), trips, zero,
                      [&](Value trip, std::span<const Value> before) {
                        const Value first = k.mul(trip, k.u32(p.depth));
                        a.fill(k, first, length);
                        b.fill(k, first, length);
                        k.barrier();
                        Values sums(before.begin(), before.end());
                        for (std::uint32_t n = 0; n < p.depth; ++n) {
                          Values x, y;
                          for (Value r : rows) x.push_back(a.get(k, n, r));
                          for (Value c : columns) y.push_back(b.get(k, n, c));
                          for (std::size_t i = 0; i < sums.size(); ++i)
                            sums[i] = k.add(sums[i], k.mul(x[i / y.size()], y[i % y.size()]));
                        }
                        k.barrier();
                        return sums;
                      });
}

}  // namespace gnomon::kernel
