// engine/library/ode/rosenbrock_tables.cpp -- the coefficients of the linearly implicit methods.
#include "engine/library/ode/rosenbrock.h"

#include <cmath>

namespace gnomon::ode::detail::tables {

using Row = RosenbrockTable::Row;

const RosenbrockTable& rosenbrock23() {
  // In the source k1 = u1 / h, k2 = (u1 + u2) / h, and its third system, which looks at slopes of
  // earlier stages, is solved for u3 = h k3 - e32 u2 - 2 u1.
  static const RosenbrockTable t = [] {
    const double d = 1 / (2 + std::sqrt(2.0)), e32 = 6 + std::sqrt(2.0), m = 1 / (1 - 2 * d);
    return RosenbrockTable{.name = "Rosenbrock23",
                           .order = 2,
                           .error_order = 3,
                           .gamma = d,
                           .scale = 1,
                           .c = {0, 0.5, 1},
                           .a = {{0.5}, {1, 1}},
                           .r = {{-1}, {-2, -e32}},
                           .d = {d, 0, -d},
                           .b = {1, 1, 0},
                           .error = {1.0 / 6, (e32 - 2) / 6, 1.0 / 6},
                           .dense = {{m - 2 * d * m, 0}, {-2 * d * m, m}, {0, 0}},
                           .first_same_as_last = true};
  }();
  return t;
}

const RosenbrockTable& rodas5p() {
  static const RosenbrockTable t = [] {
    // As Hairer and Wanner write it: (1 / (h gamma) - J) u_i = f + sum_j c_ij u_j / h + h d_i f_t.
    const double gamma = 0.21193756319429014;
    const Row a6{-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256,
                 0.030198172008377946};
    const auto with = [](Row row, double last) {
      row.push_back(last);
      return row;
    };
    const Row a7 = with(a6, 1), a8 = with(a7, 1), b = with(a8, 1);
    RosenbrockTable table{
        .name = "Rodas5P",
        .order = 5,
        .error_order = 5,
        .gamma = gamma,
        .scale = gamma,
        .c = {0, 0.6358126895828704, 0.4095798393397535, 0.9769306725060716, 0.4288403609558664, 1,
              1, 1},
        .a = {{3.0},
              {2.849394379747939, 0.45842242204463923},
              {-6.954028509809101, 2.489845061869568, -10.358996098473584},
              {2.8029986275628964, 0.5072464736228206, -0.3988312541770524, -0.04721187230404641},
              a6,
              a7,
              a8},
        .r = {{-14.155112264123755},
              {-17.97296035885952, -2.859693295451294},
              {147.12150275711716, -1.41221402718213, 71.68940251302358},
              {165.43517024871676, -0.4592823456491126, 42.90938336958603, -5.961986721573306},
              {24.854864614690072, -3.0009227002832186, 47.4931110020768, 5.5814197821558125,
               -0.6610691825249471},
              {30.91273214028599, -3.1208243349937974, 77.79954646070892, 34.28646028294783,
               -19.097331116725623, -28.087943162872662},
              {37.80277123390563, -3.2571969029072276, 112.26918849496327, 66.9347231244047,
               -40.06618937091002, -54.66780262877968, -9.48861652309627}},
        .d = {0.21193756319429014, -0.42387512638858027, -0.3384627126235924, 1.8046452872882734,
              2.325825639765069, 0, 0, 0},
        .b = b,
        .error = {0, 0, 0, 0, 0, 0, 0, 1},
        .dense = {}};
    for (Row& row : table.r)
      for (double& x : row) x *= gamma;
    for (double& x : table.d) x *= gamma;
    // y(theta) = (1 - theta) y + theta (y' + (1 - theta) (p + theta (q + theta s))), p, q and s
    // sums of the u_j with these weights.
    const Row p{25.948786856663858, -2.5579724845846235, 10.433815404888879, -2.3679251022685204,
                0.524948541321073,  1.1241088310450404,  0.4272876194431874, -0.17202221070155493};
    const Row q{-9.91568850695171,  -0.9689944594115154, 3.0438037242978453, -24.495224566215796,
                20.176138334709044, 15.98066361424651,   -6.789040303419874, -6.710236069923372};
    const Row s{11.419903575922262,  2.8879645146136994, 72.92137995996029,    80.12511834622643,
                -52.072871366152654, -59.78993625266729, -0.15582684282751913, 4.883087185713722};
    for (std::size_t i = 0; i < b.size(); ++i)
      table.dense.push_back({b[i] + p[i], q[i] - p[i], s[i] - q[i], -s[i]});
    return table;
  }();
  return t;
}

}  // namespace gnomon::ode::detail::tables
