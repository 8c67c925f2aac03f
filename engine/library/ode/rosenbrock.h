// engine/library/ode/rosenbrock.h -- tables of linearly implicit methods.
#pragma once
#include <string>
#include <vector>

namespace gnomon::ode::detail {

/// (1 - h gamma J) u_i = h scale f(t + c_i h, y + sum_j a_ij u_j) + sum_j r_ij u_j + h^2 d_i f_t,
/// y' = y + sum_j b_j u_j. Derivatives J and f_t of the field at the start of the step.
struct RosenbrockTable {
  using Row = std::vector<double>;
  std::string name;
  int order = 0, error_order = 0;
  double gamma = 0, scale = 1;
  Row c;               // of all stages
  std::vector<Row> a;  // of stages 2, 3, ..
  std::vector<Row> r;  // of stages 2, 3, ..
  Row d;               // of all stages
  Row b, error;
  /// y(theta) - y = sum_i u_i sum_p dense[i][p] theta^(p + 1).
  std::vector<Row> dense;
  bool first_same_as_last = false;  // the last stage looks at the end of the step

  std::size_t stages() const { return b.size(); }
};

namespace tables {
const RosenbrockTable& rosenbrock23();
const RosenbrockTable& rodas5p();
}  // namespace tables

}  // namespace gnomon::ode::detail
