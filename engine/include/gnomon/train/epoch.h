// engine/include/gnomon/train/epoch.h -- an epoch inside one compiled call.
#pragma once
#include <type_traits>
#include <utility>

#include "gnomon/control.h"
#include "gnomon/indexing.h"
#include "gnomon/random.h"
#include "gnomon/tree.h"

#pragma GCC visibility push(default)
namespace gnomon::train {

namespace detail {
/// i32[batches, batch]: the examples of each batch. Throws UsageError unless all arrays have as
/// many rows, and no fewer than a batch.
Array batch_rows(const std::vector<Array>& data, Key key, Dim batch, Loc);
}  // namespace detail

/// {carry, outputs of the steps stacked} after one pass over `data`, arrays f[n, ..], in an order
/// drawn from `key`: a scan over n / batch batches, rows [batch, ..] of each array.
///
/// `step(carry, batch)` or `step(carry, batch, Key)` gives {carry, output}; the keys are for what
/// it draws, dropout for example. Examples beyond the last whole batch are skipped, other ones in
/// each epoch. For use in a jitted function with the data as an argument: nothing goes through the
/// host. Throws UsageError unless all arrays have n rows, batch of them or more.
template <class F, class C, class D>
auto epoch(F&& step, C carry, const D& data, Key key, Dim batch, Loc loc = Loc::here()) {
  const auto gathered = [&](const Array& rows) {
    return tree::map([&](const Array& a) { return take(a, rows); }, data);
  };
  if constexpr (std::is_invocable_v<F&, C, D, Key>) {
    auto [order, draws] = random::split<2>(std::move(key));
    const Array rows = detail::batch_rows(tree::leaves(data), std::move(order), batch, loc);
    const auto body = [&](C before, std::pair<Array, Key> at) {
      return step(std::move(before), gathered(at.first), std::move(at.second));
    };
    return scan(body, std::move(carry),
                std::pair{rows, random::split(std::move(draws), rows.dim(0))});
  } else {
    const Array rows = detail::batch_rows(tree::leaves(data), std::move(key), batch, loc);
    const auto body = [&](C before, const Array& at) {
      return step(std::move(before), gathered(at));
    };
    return scan(body, std::move(carry), rows);
  }
}

}  // namespace gnomon::train
#pragma GCC visibility pop
