// engine/library/ode/saver.h -- rows that a solve keeps on its way.
#pragma once
#include <optional>
#include <vector>

#include "engine/library/ode/method.h"

namespace gnomon::ode::detail {

/// What a saver carries through the loop.
struct Kept {
  Array row;                // i32[]: rows written
  std::optional<Array> at;  // i32[]: of `ts`, the next one
  Array ts;                 // write-once: [rows]
  Arrays values;            // write-once: [rows, ..]
};

/// One SaveAt and the function whose values it keeps.
class Saver {
 public:
  /// Throws UsageError for times out of order or range, and for steps without a bound.
  Saver(const Request&, const SaveRequest&, const Fields&, DType time);

  /// Whether rows are written while the solve runs.
  bool in_loop() const { return ts_ || steps_ > 0; }
  Dim rows() const { return rows_; }
  bool interpolates() const { return ts_.has_value(); }
  /// Whether it keeps all steps or none.
  bool is_uniform() const { return !ts_ && steps_ <= 1; }
  /// What it keeps of a state.
  Arrays values(const Array& t, const Arrays& y) const;

  /// With the row of t0, and those of `ts` if the solve ends where it begins.
  Kept start(const Array& t0, const Array& t1, const Arrays& y0) const;
  /// Behind a step that ended the accepted part of the solve at `t`; `accepted`: how many there
  /// are. `keep`: whether it was accepted at all.
  Kept step(Kept, const Span&, const Arrays& y0, const Polynomial&, const Array& t, const Arrays& y,
            const std::optional<Array>& keep, const Array& accepted) const;
  /// With the row of t1.
  Rows finish(Kept, const Array& t0, const Arrays& y0, const Array& t1, const Arrays& y1,
              const Array& accepted) const;
  /// The rows of a saver of all steps: with those of t0, and of `steps` at times `ts`.
  Rows all(const Array& t0, const Arrays& y0, const Array& ts, const Arrays& steps) const;

 private:
  Rows filled(Rows) const;
  Kept write(Kept, const Array& row, const Array& t, const Arrays& values) const;

  const Fields& fields_;
  const SaveRequest& request_;
  DType time_;
  std::optional<Array> ts_;   // in the direction of integration
  bool may_be_empty_ = true;  // whether t0 may be t1
  Dim steps_ = 0;
  Dim rows_ = 0;
};

}  // namespace gnomon::ode::detail
