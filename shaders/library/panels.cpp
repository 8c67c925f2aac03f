// shaders/library/panels.cpp -- products of one pair of panels while the next is fetched.
#include "shaders/library/panels.h"

#include <algorithm>
#include <numeric>

namespace gnomon::kernel {
namespace {

/// Elements of one access.
constexpr std::uint32_t neighbours = 4;

/// One side's panels in shared memory: one that the products are made of and one that is filled
/// meanwhile. Element (which, n) of either lies at n * stride + which.
class Panel {
 public:
  Panel(Builder& k, const Panels& p, const PanelSide& side, std::uint32_t width,
        std::uint64_t length, DType dtype)
      : panels_(p),
        side_(side),
        length_(length),
        width_(width),
        // Elements that are written side by side along the sum fall into different banks; four
        // neighbours stay one access.
        stride_(side.along_sum ? width + neighbours : width),
        // Four neighbours are one access of memory, too.
        run_(
            std::gcd(std::gcd(neighbours, inner()), (width * p.depth + p.group() - 1) / p.group())),
        dtype_(dtype),
        array_(k.shared_array({dtype, (length > p.depth ? 2 : 1) * size()})) {}

  /// The invocation's share of positions first to first + depth - 1 of the sum, of which those
  /// below `length` exist.
  Values fetch(Builder& k, Value first) const {
    Values mine;
    for_mine(k, [&](Value which, Value n) { mine.push_back(element(k, which, k.add(first, n))); });
    return mine;
  }

  /// Writes it to the panel with number 0 or 1.
  void put(Builder& k, Value panel, const Values& mine) const {
    const Value start = k.mul(panel, k.u32(size()));
    const std::uint32_t elements = width_ * panels_.depth, at_once = run_ * panels_.group();
    const bool wide = is_wide(run_) && !side_.along_sum;
    std::uint32_t next = 0;
    for_mine(k, [&](Value which, Value n) {
      const std::uint32_t i = next++;
      const auto one = [&] {
        if (wide && i % neighbours != 0) return Values{};
        k.shared_store(array_, k.add(start, k.add(k.mul(n, k.u32(stride_)), which)),
                       wide ? k.construct(std::span(mine).subspan(i, neighbours)) : mine[i]);
        return Values{};
      };
      // The last invocations may have nothing to do.
      const std::uint32_t before = i / run_ * at_once;
      if (before + at_once <= elements) {
        one();
        return;
      }
      const Value left = k.u32((elements - before) / run_);
      k.if_(k.compare(Op::lt, k.source(Op::local_index), left), one, [] { return Values{}; });
    });
  }

  /// Elements `first` to `first + count - 1` of position n.
  Values get(Builder& k, Value panel, std::uint32_t n, Value first, std::uint32_t count) const {
    const Value start = k.add(k.mul(panel, k.u32(size())), k.add(first, k.u32(n * stride_)));
    Values r;
    const std::uint32_t width = is_wide(count) ? neighbours : 1;
    for (std::uint32_t i = 0; i < count; i += width) {
      const Value x =
          k.shared_load(array_, k.add(start, k.u32(i)), static_cast<std::uint8_t>(width));
      for (std::uint32_t j = 0; j < width; ++j) r.push_back(width == 1 ? x : k.extract(x, j));
    }
    return r;
  }

 private:
  std::uint32_t inner() const { return side_.along_sum ? panels_.depth : width_; }
  std::uint32_t size() const { return panels_.depth * stride_; }
  /// Whether `count` neighbours are accesses of 16 bytes.
  bool is_wide(std::uint32_t count) const {
    return count % neighbours == 0 && stride_ % neighbours == 0 && size_of(dtype_) == 4;
  }

  /// Elements that the invocation moves, in runs of neighbours in memory; beyond the last one, the
  /// last one's.
  void for_mine(Builder& k, const std::function<void(Value which, Value n)>& f) const {
    const std::uint32_t elements = width_ * panels_.depth, group = panels_.group();
    for (std::uint32_t done = 0; done < elements; done += group * run_) {
      Value e = k.add(k.mul(k.source(Op::local_index), k.u32(run_)), k.u32(done));
      if (done + group * run_ > elements) e = k.binary(Op::minimum, e, k.u32(elements - run_));
      const Value slow = k.div(e, k.u32(inner()));
      const Value first = k.rem(e, k.u32(inner()));
      for (std::uint32_t i = 0; i < run_; ++i) {
        const Value fast = k.add(first, k.u32(i));
        if (side_.along_sum)
          f(slow, fast);
        else
          f(fast, slow);
      }
    }
  }

  Value element(Builder& k, Value which, Value n) const {
    if (length_ % panels_.depth == 0) return side_.load(which, n);
    const Value end = k.u32(static_cast<std::uint32_t>(length_));
    const Value x = side_.load(which, k.binary(Op::minimum, n, k.sub(end, k.u32(1))));
    return k.select(k.compare(Op::lt, n, end), x, k.number(dtype_, 0));
  }

  const Panels& panels_;
  const PanelSide& side_;
  std::uint64_t length_;
  std::uint32_t width_, stride_, run_;
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

std::size_t Panels::shared_bytes(DType dtype) const {
  const auto width = [&](std::uint32_t n) { return n + neighbours; };
  return std::size_t{2} * depth * (width(block_rows()) + width(block_columns())) *
         std::max<std::size_t>(4, size_of(dtype));
}

Values Panels::own_rows(Builder& k) const {
  return own(k, k.div(k.source(Op::local_index), k.u32(across)), rows);
}
Values Panels::own_columns(Builder& k) const {
  return own(k, k.rem(k.source(Op::local_index), k.u32(across)), columns);
}

Values multiply(Builder& k, const Panels& p, std::uint64_t length, DType dtype,
                const PanelSide& left, const PanelSide& right) {
  const Panel a(k, p, left, p.block_rows(), length, dtype);
  const Panel b(k, p, right, p.block_columns(), length, dtype);
  const Values rows = p.own_rows(k), columns = p.own_columns(k);
  const auto add_products = [&](Values sums, Value panel) {
    for (std::uint32_t n = 0; n < p.depth; ++n) {
      const Values x = a.get(k, panel, n, rows[0], p.rows);
      const Values y = b.get(k, panel, n, columns[0], p.columns);
      for (std::size_t i = 0; i < sums.size(); ++i)
        sums[i] = k.multiply_add(x[i / y.size()], y[i % y.size()], sums[i]);
    }
    return sums;
  };

  const Value first = k.u32(0);
  a.put(k, first, a.fetch(k, first));
  b.put(k, first, b.fetch(k, first));
  k.barrier();
  Values sums(rows.size() * columns.size(), k.number(dtype, 0));
  const std::uint64_t last = (length - 1) / p.depth;
  if (last > 0)
    // What the next panels are made of is on its way while the products are made.
    sums = k.count_loop(k.u32(static_cast<std::uint32_t>(last)), last, sums,
                        [&](Value trip, std::span<const Value> before) {
                          const Value next = k.add(trip, k.u32(1));
                          const Value position = k.mul(next, k.u32(p.depth));
                          const Values x = a.fetch(k, position), y = b.fetch(k, position);
                          Values now = add_products({before.begin(), before.end()},
                                                    k.binary(Op::band, trip, k.u32(1)));
                          const Value other = k.binary(Op::band, next, k.u32(1));
                          a.put(k, other, x);
                          b.put(k, other, y);
                          k.barrier();
                          return now;
                        });
  return add_products(std::move(sums), k.u32(static_cast<std::uint32_t>(last % 2)));
}

}  // namespace gnomon::kernel
