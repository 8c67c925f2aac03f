// engine/library/ode/dirk.h -- tables of diagonally implicit Runge-Kutta methods, alone or beside
// an explicit one.
#pragma once
#include <string>
#include <vector>

namespace gnomon::ode::detail {

/// Stage i solves Y_i = y + h sum_(j < i) (explicit_a_ij fE_j + a_ij fI_j) + h diagonal fI(Y_i);
/// the first one is y itself. Rows of `a`, `explicit_a` and `predictor` belong to stages 2, 3, ..
struct DirkTable {
  using Row = std::vector<double>;
  std::string name;
  int order = 0, error_order = 0;
  Row c;               // of stages 2, 3, ..
  std::vector<Row> a;  // below the diagonal
  Row diagonal;        // of stages 2, 3, ..
  Row b, error;        // of all stages
  /// Empty: the method takes one term.
  std::vector<Row> explicit_a = {};
  Row explicit_b = {}, explicit_error = {};  // empty: b, error
  /// Slopes to begin an iteration with, as sums of those of earlier stages. Empty: on the line
  /// through the first and the latest slope.
  std::vector<Row> predictor = {};
  /// As in Tableau. Empty: cubic Hermite.
  std::vector<Row> dense = {};

  std::size_t stages() const { return b.size(); }
  /// Whether the last stage is the end of the step; of the implicit table, and of both.
  bool ends_with_last_stage() const;
  bool explicit_ends_with_last_stage() const;
};

namespace tables {
const DirkTable& implicit_euler();
const DirkTable& kvaerno3();
const DirkTable& kvaerno4();
const DirkTable& kvaerno5();
const DirkTable& kencarp3();
const DirkTable& kencarp4();
const DirkTable& kencarp5();
const DirkTable& sil3();
}  // namespace tables

}  // namespace gnomon::ode::detail
