// engine/library/train/feeder.cpp -- a thread that stays a few batches ahead.
#include "gnomon/train/feeder.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>

#include "gnomon/error.h"

namespace gnomon::train::detail {

struct FeederCore::Worker {
  Worker(Runtime& runtime, Dim n, Source from, FeederOptions o)
      : rt(runtime), examples(n), source(std::move(from)), options(o) {}

  /// The rows of batch `number`. In the worker's thread.
  Rows rows_of(std::int64_t number) {
    const std::int64_t of = number / (examples / options.batch);
    if (order.empty() || of != epoch) {
      if (options.shuffle) {
        const Key key = rt.key(options.seed);
        const Array e = rt.from_host(static_cast<std::int32_t>(of));
        order = rt.to_host<std::int32_t>(random::permutation(random::fold_in(key, e), examples));
      } else if (order.empty()) {
        order.resize(static_cast<std::size_t>(examples));
        std::iota(order.begin(), order.end(), 0);
      }
      epoch = of;
    }
    const std::int64_t first = number % (examples / options.batch) * options.batch;
    return Rows(order).subspan(static_cast<std::size_t>(first),
                               static_cast<std::size_t>(options.batch));
  }

  void run() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] {
        return stop || (!failure && ready.size() < static_cast<std::size_t>(options.ahead));
      });
      if (stop) return;
      const std::int64_t number = position + static_cast<std::int64_t>(ready.size());
      const std::uint64_t turn = seeks;
      lock.unlock();
      std::shared_ptr<void> batch;
      std::exception_ptr error;
      try {
        batch = source(rows_of(number));
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      if (turn == seeks) {  // else it is another batch that is wanted
        if (error)
          failure = error;
        else
          ready.push_back(std::move(batch));
      }
      changed.notify_all();
    }
  }

  Runtime& rt;
  const Dim examples;
  const Source source;
  const FeederOptions options;
  std::vector<std::int32_t> order;  // of `epoch`; the worker's own
  std::int64_t epoch = 0;

  std::mutex mutex;  // everything below
  std::condition_variable changed;
  std::deque<std::shared_ptr<void>> ready;  // batches position, position + 1, ...
  std::int64_t position = 0;
  std::uint64_t seeks = 0;
  std::exception_ptr failure;
  bool stop = false;
  std::thread thread;
};

FeederCore::FeederCore(Runtime& rt, Dim examples, Source source, FeederOptions options) {
  if (options.batch < 1 || options.batch > examples)
    usage_error("train::Feeder",
                "batches of " + std::to_string(options.batch) + " of " + std::to_string(examples) +
                    " examples; a batch has 1 or more and at most all",
                {});
  if (options.ahead < 1)
    usage_error("train::Feeder",
                std::to_string(options.ahead) + " batches ahead; prepare 1 or more", {});
  worker_ = std::make_unique<Worker>(rt, examples, std::move(source), options);
  worker_->thread = std::thread([w = worker_.get()] { w->run(); });
}

FeederCore::~FeederCore() {
  {
    const std::lock_guard lock(worker_->mutex);
    worker_->stop = true;
  }
  worker_->changed.notify_all();
  worker_->thread.join();
}

std::shared_ptr<void> FeederCore::next() {
  Worker& w = *worker_;
  std::unique_lock lock(w.mutex);
  w.changed.wait(lock, [&] { return w.failure || !w.ready.empty(); });
  if (w.ready.empty()) {
    const std::exception_ptr error = std::exchange(w.failure, nullptr);
    w.changed.notify_all();  // the next call tries again
    std::rethrow_exception(error);
  }
  std::shared_ptr<void> batch = std::move(w.ready.front());
  w.ready.pop_front();
  ++w.position;
  w.changed.notify_all();
  return batch;
}

void FeederCore::seek(std::int64_t batch) {
  if (batch < 0)
    usage_error("train::Feeder::seek",
                "batch " + std::to_string(batch) + "; batches are counted from 0", {});
  Worker& w = *worker_;
  const std::lock_guard lock(w.mutex);
  if (batch == w.position) return;
  w.ready.clear();
  w.failure = nullptr;
  w.position = batch;
  ++w.seeks;
  w.changed.notify_all();
}

std::int64_t FeederCore::position() const {
  const std::lock_guard lock(worker_->mutex);
  return worker_->position;
}

std::int64_t FeederCore::per_epoch() const { return worker_->examples / worker_->options.batch; }

std::string FeederCore::order() const {
  const FeederOptions& o = worker_->options;
  return "batches of " + std::to_string(o.batch) + " of " + std::to_string(worker_->examples) +
         (o.shuffle ? " in the order of seed " + std::to_string(o.seed) : " in their own order");
}

Dim examples_of(const std::vector<io::FileArray>& arrays, std::size_t leaves) {
  if (arrays.size() != leaves)
    usage_error("train::Feeder",
                std::to_string(arrays.size()) + " arrays of examples for batches of " +
                    std::to_string(leaves) + " arrays",
                {});
  for (const io::FileArray& a : arrays)
    if (a.aval.shape.rank() == 0 || a.aval.shape[0] != arrays[0].aval.shape[0])
      usage_error("train::Feeder",
                  "examples are rows, as many in each array, but there are " +
                      to_string(arrays[0].aval) + " and " + to_string(a.aval),
                  {});
  return arrays.empty() ? 0 : arrays[0].aval.shape[0];
}

std::vector<Array> upload(Runtime& rt, const std::vector<io::FileArray>& arrays, Rows rows) {
  std::vector<Array> result;
  std::vector<std::byte> bytes;
  for (const io::FileArray& a : arrays) {
    Aval aval = a.aval;
    const std::size_t row = a.bytes.size() / static_cast<std::size_t>(aval.shape[0]);
    aval.shape[0] = static_cast<Dim>(rows.size());
    bytes.resize(row * rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i)
      std::memcpy(bytes.data() + i * row, a.bytes.data() + static_cast<std::size_t>(rows[i]) * row,
                  row);
    result.push_back(rt.from_bytes(aval, bytes));
  }
  return result;
}

}  // namespace gnomon::train::detail
