// engine/include/gnomon/train/feeder.h -- batches of examples from host memory, prepared while the
// device computes.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gnomon/handler.h"
#include "gnomon/io.h"

#pragma GCC visibility push(default)
namespace gnomon::train {

struct FeederOptions {
  Dim batch = 32;         // examples in a batch; what is left at the end of an epoch is skipped
  std::int64_t seed = 0;  // of the order
  bool shuffle = true;    // else in their own order in every epoch
  int ahead = 1;          // batches that are uploaded beside the one in use
};

/// Numbers of examples, i32 in [0, examples).
using Rows = std::span<const std::int32_t>;

/// An array in host memory of `values`, row by row.
template <class T>
io::FileArray host_array(const std::vector<T>& values, const Shape& shape) {
  const auto bytes = std::as_bytes(std::span(values));
  return {{gnomon::detail::dtype_of<T>(), shape}, {bytes.begin(), bytes.end()}};
}

namespace detail {

/// The part of a feeder that does not depend on the type of its batches.
class FeederCore {
 public:
  using Source = Handler<std::shared_ptr<void>(Rows)>;
  FeederCore(Runtime&, Dim examples, Source, FeederOptions);
  ~FeederCore();
  FeederCore(const FeederCore&) = delete;
  FeederCore& operator=(const FeederCore&) = delete;
  std::shared_ptr<void> next();
  void seek(std::int64_t batch);
  std::int64_t position() const;
  std::int64_t per_epoch() const;
  std::string order() const;

 private:
  struct Worker;
  std::unique_ptr<Worker> worker_;
};

/// Arrays of the rows; checks that all have as many.
Dim examples_of(const std::vector<io::FileArray>&, std::size_t leaves);
std::vector<Array> upload(Runtime&, const std::vector<io::FileArray>&, Rows);

}  // namespace detail

/// A sequence of batches: epoch after epoch of the examples in an order that depends on seed and
/// epoch only. A thread of its own gathers and uploads the next batches while the caller uses one.
///
/// Epoch e is in the order of random::permutation(random::fold_in(rt.key(seed), e), examples), as
/// in `train::epoch`. Not for several threads at once. The Runtime must outlive it.
template <class B>
class Feeder {
 public:
  /// Batches that `source`, Rows -> B, makes. It is called in the feeder's thread; what it throws,
  /// `next` throws.
  ///
  /// Throws UsageError unless 1 <= batch <= examples and ahead >= 1.
  template <class F>
  requires std::is_invocable_r_v<B, F&, Rows> Feeder(Runtime& rt, Dim examples, F source,
                                                     FeederOptions options = {})
      : core_(std::make_unique<detail::FeederCore>(
            rt, examples,
            [source = std::move(source)](Rows rows) mutable {
              return std::shared_ptr<void>(std::make_shared<B>(source(rows)));
            },
            options)) {}

  /// Batches of rows of `arrays`, which become the arrays of a B in order.
  ///
  /// Throws UsageError as well unless there are as many as a B has, of equally many rows.
  Feeder(Runtime& rt, std::vector<io::FileArray> arrays, FeederOptions options = {})
      : Feeder(rt, std::make_shared<const std::vector<io::FileArray>>(std::move(arrays)), options) {
  }

  /// The next batch. Waits until it is there.
  B next() { return std::move(*static_cast<B*>(core_->next().get())); }
  /// Goes on with batch number `batch`, counted from 0 over all epochs.
  void seek(std::int64_t batch) { core_->seek(batch); }
  /// The number of the batch that `next` gives.
  std::int64_t position() const { return core_->position(); }
  std::int64_t per_epoch() const { return core_->per_epoch(); }
  /// Text that two feeders share when they give the same rows: "batches of 32 of 1000 in the order
  /// of seed 0".
  std::string order() const { return core_->order(); }

 private:
  using Examples = std::shared_ptr<const std::vector<io::FileArray>>;
  Feeder(Runtime& rt, Examples arrays, FeederOptions options)
      : Feeder(
            rt, detail::examples_of(*arrays, tree::leaf_count(B{})),
            [&rt, arrays](Rows rows) {
              return tree::with_leaves(B{}, detail::upload(rt, *arrays, rows));
            },
            options) {}
  std::unique_ptr<detail::FeederCore> core_;
};

}  // namespace gnomon::train
#pragma GCC visibility pop
