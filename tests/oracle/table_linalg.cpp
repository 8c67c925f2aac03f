// tests/oracle/table_linalg.cpp -- linear algebra against LAPACK.
//
// LAPACK computes in double: its noise bounds what f64 derivatives by differences can show, and
// conditions of the matrices here (below 100) are in the units.
#include <lapacke.h>

#include <complex>

#include "gnomon/indexing.h"
#include "gnomon/linalg.h"
#include "gnomon/sorting.h"
#include "rows.h"

namespace oracle {
namespace {

namespace la = gnomon::linalg;

/// A matrix of doubles by rows, as LAPACKE takes it.
struct Matrix {
  int m = 0, n = 0;
  std::vector<double> a;
  Matrix(int rows, int columns)
      : m(rows), n(columns), a(static_cast<std::size_t>(rows * columns)) {}
  double& operator()(int i, int j) { return a[static_cast<std::size_t>(i * n + j)]; }
  double operator()(int i, int j) const { return a[static_cast<std::size_t>(i * n + j)]; }
};
Matrix matrix(const Tensor& t) {
  Matrix r(static_cast<int>(t.dim(0)), t.shape.rank() > 1 ? static_cast<int>(t.dim(1)) : 1);
  std::copy(t.v.begin(), t.v.end(), r.a.begin());
  return r;
}
Matrix symmetric(const Tensor& t) {
  Matrix r = matrix(t);
  for (int i = 0; i < r.m; ++i)
    for (int j = 0; j < i; ++j) r(i, j) = r(j, i) = (r(i, j) + r(j, i)) / 2;
  return r;
}
Matrix product(const Matrix& a, const Matrix& b) {
  Matrix r(a.m, b.n);
  for (int i = 0; i < a.m; ++i)
    for (int j = 0; j < b.n; ++j)
      for (int k = 0; k < a.n; ++k) r(i, j) += a(i, k) * b(k, j);
  return r;
}
Matrix transposed(const Matrix& a) {
  Matrix r(a.n, a.m);
  for (int i = 0; i < a.m; ++i)
    for (int j = 0; j < a.n; ++j) r(j, i) = a(i, j);
  return r;
}
/// Its errors count against the largest element.
Tensor tensor(T x, const Shape& s, const std::vector<double>& v) {
  Tensor t(x[0].dtype, s);
  std::copy(v.begin(), v.end(), t.v.begin());
  double size = 0;
  for (const double a : v) size = std::max(size, std::fabs(a));
  return scaled(t, size);
}
Tensor tensor(T x, const Matrix& a) { return tensor(x, {a.m, a.n}, a.a); }
Tensor number(T x, double v) { return tensor(x, {}, {v}); }
Tensor ints(const Shape& s, const std::vector<Dim>& v) {
  return i32(s, [&](I i) { return v[static_cast<std::size_t>(i.empty() ? 0 : i[0])]; });
}

Matrix inverse(Matrix a) {
  std::vector<lapack_int> p(static_cast<std::size_t>(a.n));
  LAPACKE_dgetrf(LAPACK_ROW_MAJOR, a.n, a.n, a.a.data(), a.n, p.data());
  LAPACKE_dgetri(LAPACK_ROW_MAJOR, a.n, a.a.data(), a.n, p.data());
  return a;
}
double determinant(Matrix a) {
  std::vector<lapack_int> p(static_cast<std::size_t>(a.n));
  LAPACKE_dgetrf(LAPACK_ROW_MAJOR, a.n, a.n, a.a.data(), a.n, p.data());
  double d = 1;
  for (int i = 0; i < a.n; ++i) d *= p[static_cast<std::size_t>(i)] == i + 1 ? a(i, i) : -a(i, i);
  return d;
}
struct Decomposed {
  Matrix u{0, 0}, vt{0, 0};
  std::vector<double> s;
};
/// Columns of `a` (rows of `b` with them) so that the element of largest magnitude is positive.
void signs(Matrix& a, Matrix* b) {
  for (int j = 0; j < a.n; ++j) {
    int top = 0;
    for (int i = 1; i < a.m; ++i)
      if (std::fabs(a(i, j)) > std::fabs(a(top, j))) top = i;
    if (a(top, j) >= 0) continue;
    for (int i = 0; i < a.m; ++i) a(i, j) = -a(i, j);
    for (int i = 0; b != nullptr && i < b->n; ++i) (*b)(j, i) = -(*b)(j, i);
  }
}
Decomposed singular(Matrix a) {
  const int k = std::min(a.m, a.n);
  Decomposed d{Matrix(a.m, k), Matrix(k, a.n), std::vector<double>(static_cast<std::size_t>(k))};
  std::vector<double> work(static_cast<std::size_t>(k));
  LAPACKE_dgesvd(LAPACK_ROW_MAJOR, 'S', 'S', a.m, a.n, a.a.data(), a.n, d.s.data(), d.u.a.data(), k,
                 d.vt.a.data(), a.n, work.data());
  signs(d.u, &d.vt);
  return d;
}
Matrix pseudoinverse(const Matrix& a) {
  Decomposed d = singular(a);
  for (int i = 0; i < d.vt.m; ++i)
    for (int j = 0; j < d.vt.n; ++j) d.vt(i, j) /= d.s[static_cast<std::size_t>(i)];
  return product(transposed(d.vt), transposed(d.u));
}
Matrix exponential(const Matrix& a) {
  // The definition, where it converges fast: of a / 64, squared six times, in long double.
  const auto n = static_cast<std::size_t>(a.n);
  using L = std::vector<Number>;
  const auto times = [n](const L& p, const L& q) {
    L r(n * n);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = 0; k < n; ++k)
        for (std::size_t j = 0; j < n; ++j) r[i * n + j] += p[i * n + k] * q[k * n + j];
    return r;
  };
  L x(n * n), sum(n * n), term(n * n);
  for (std::size_t i = 0; i < n * n; ++i) x[i] = a.a[i] / 64.0L;
  for (std::size_t i = 0; i < n; ++i) sum[i * n + i] = term[i * n + i] = 1;
  for (int k = 1; k < 30; ++k) {
    term = times(term, x);
    for (Number& v : term) v /= k;
    for (std::size_t i = 0; i < n * n; ++i) sum[i] += term[i];
  }
  for (int s = 0; s < 6; ++s) sum = times(sum, sum);
  Matrix r(a.n, a.n);
  std::copy(sum.begin(), sum.end(), r.a.begin());
  return r;
}

/// Bands of which the outer elements do not count.
Tensor tridiagonal(T x) {
  const int n = static_cast<int>(x[1].dim(0));
  std::vector<double> lower(x[0].v.begin() + 1, x[0].v.end()), diag(x[1].v.begin(), x[1].v.end()),
      upper(x[2].v.begin(), x[2].v.end() - 1);
  Matrix b = matrix(x[3]);
  LAPACKE_dgtsv(LAPACK_ROW_MAJOR, n, b.n, lower.data(), diag.data(), upper.data(), b.a.data(), b.n);
  return tensor(x, b);
}
/// The parts of the solution of a complex system, whose matrix is the first two inputs.
Tensors complex_system(T x, int k, const std::function<std::complex<double>(int, int)>& rhs) {
  const int n = static_cast<int>(x[0].dim(0));
  std::vector<std::complex<double>> a, b;
  for (std::size_t i = 0; i < x[0].v.size(); ++i)
    a.emplace_back(double(x[0].v[i]), double(x[1].v[i]));
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < k; ++j) b.push_back(rhs(i, j));
  std::vector<lapack_int> p(static_cast<std::size_t>(n));
  const auto raw = [](auto& v) { return reinterpret_cast<lapack_complex_double*>(v.data()); };
  LAPACKE_zgesv(LAPACK_ROW_MAJOR, n, k, raw(a), n, p.data(), raw(b), k);
  std::vector<double> re, im;
  for (const std::complex<double>& z : b) {
    re.push_back(z.real());
    im.push_back(z.imag());
  }
  return {tensor(x, {n, k}, re), tensor(x, {n, k}, im)};
}

/// Eigenvalues and eigenvectors of a general matrix in the order of a sum that tells them apart;
/// vectors have length 1 and a real positive element where they are largest.
Tensors general_pairs(T x) {
  using Z = std::complex<double>;
  Matrix a = matrix(x[0]);
  const int n = a.n;
  const auto size = static_cast<std::size_t>(n);
  Matrix right(n, n);
  std::vector<double> re(size), im(size), none(size);
  LAPACKE_dgeev(LAPACK_ROW_MAJOR, 'N', 'V', n, a.a.data(), n, re.data(), im.data(), none.data(), n,
                right.a.data(), n);
  std::vector<std::vector<Z>> pairs;  // the eigenvalue, then the vector
  for (int j = 0; j < n; ++j) {
    std::vector<Z> p{{re[static_cast<std::size_t>(j)], im[static_cast<std::size_t>(j)]}};
    const int first = p[0].imag() < 0 ? j - 1 : j;
    for (int i = 0; i < n; ++i)
      p.push_back(p[0].imag() == 0 ? Z(right(i, j))
                                   : Z(right(i, first), p[0].imag() < 0 ? -right(i, first + 1)
                                                                        : right(i, first + 1)));
    Z top = 0;
    for (std::size_t i = 1; i < p.size(); ++i)
      if (std::abs(p[i]) > std::abs(top)) top = p[i];
    for (std::size_t i = 1; i < p.size(); ++i) p[i] *= std::conj(top) / std::abs(top);
    pairs.push_back(p);
  }
  std::sort(pairs.begin(), pairs.end(), [](const auto& p, const auto& q) {
    return p[0].real() + 0.375 * p[0].imag() < q[0].real() + 0.375 * q[0].imag();
  });
  Tensors t;
  for (const bool real : {true, false}) {
    std::vector<double> values, vectors;
    const auto part = [real](const Z& z) { return real ? z.real() : z.imag(); };
    for (const auto& p : pairs) values.push_back(part(p[0]));
    for (std::size_t i = 1; i <= size; ++i)
      for (const auto& p : pairs) vectors.push_back(part(p[i]));
    t.push_back(scaled(tensor(x, {n}, values), 8));
    t.push_back(scaled(tensor(x, {n, n}, vectors), 8));
  }
  return t;
}
Array in_order(const gn::Complex& values, const Array& a) {
  return gn::take(a, gn::argsort(values.re + 0.375 * values.im), a.rank() - 1);
}

constexpr Rule solves{.ulps = 64, .differentiate = true, .slope = 4000, .noise = 1e-14};
constexpr Rule values{.ulps = 64};
const Input wide = in({5, 5}, Draw::dominant), definite = in({5, 5}, Draw::definite),
            tall = in({6, 4}, Draw::dominant);

}  // namespace

// Rows are laid out as those of tables.
// clang-format off
Family linear_algebra() {
  return {.name = "Linalg", .general = {
      {"linalg::cholesky", floats, {definite}, [](A x) -> Results { return la::cholesky(x[0]); },
       [](T x) -> Exacts { Matrix a = symmetric(x[0]); LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', a.n, a.a.data(), a.n); for (int i = 0; i < a.n; ++i) for (int j = i + 1; j < a.n; ++j) a(i, j) = 0; return tensor(x, a); }, solves},
      {"linalg::triangular_solve", floats, {wide, in({5, 2})}, [](A x) -> Results { return {la::triangular_solve(x[0], x[1]), la::triangular_solve(x[0], x[1], {.lower = false, .transposed = true}), la::triangular_solve(x[0], x[1], {.lower = false, .unit_diagonal = true})}; },
       [](T x) -> Exacts { const auto s = [&](char part, char turn, char unit) { const Matrix a = matrix(x[0]); Matrix b = matrix(x[1]); LAPACKE_dtrtrs(LAPACK_ROW_MAJOR, part, turn, unit, a.n, b.n, a.a.data(), a.n, b.a.data(), b.n); return tensor(x, b); }; return {s('L', 'N', 'N'), s('U', 'T', 'N'), s('U', 'N', 'U')}; }, solves},
      {"linalg::lu", floats, {in({5, 5})}, [](A x) -> Results { const auto f = la::lu(x[0]); return {f.lu, f.pivots, f.permutation}; },
       [](T x) -> Exacts { Matrix a = matrix(x[0]); std::vector<lapack_int> p(5); LAPACKE_dgetrf(LAPACK_ROW_MAJOR, 5, 5, a.a.data(), 5, p.data()); std::vector<Dim> pivots, order{0, 1, 2, 3, 4}; for (std::size_t i = 0; i < 5; ++i) { pivots.push_back(p[i] - 1); std::swap(order[i], order[static_cast<std::size_t>(p[i] - 1)]); } return {tensor(x, a), ints({5}, pivots), ints({5}, order)}; }, {.ulps = 64, .differentiate = true, .slope = 20000, .noise = 1e-13}},
      {"linalg::qr", floats, {tall}, [](A x) -> Results { const auto f = la::qr(x[0]); return {f.q, f.r}; },
       [](T x) -> Exacts { Matrix a = matrix(x[0]); std::vector<double> tau(4); LAPACKE_dgeqrf(LAPACK_ROW_MAJOR, 6, 4, a.a.data(), 4, tau.data()); Matrix r(4, 4); for (int i = 0; i < 4; ++i) for (int j = i; j < 4; ++j) r(i, j) = a(i, j); LAPACKE_dorgqr(LAPACK_ROW_MAJOR, 6, 4, 4, a.a.data(), 4, tau.data()); return {tensor(x, a), tensor(x, r)}; }, solves},
      {"linalg::eigh linalg::eigvalsh", floats, {definite}, [](A x) -> Results { const auto f = la::eigh(x[0]); return {f.eigenvalues, f.eigenvectors, la::eigvalsh(x[0])}; },
       [](T x) -> Exacts { Matrix a = symmetric(x[0]); std::vector<double> w(5); LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'V', 'U', 5, a.a.data(), 5, w.data()); signs(a, nullptr); return {tensor(x, {5}, w), scaled(tensor(x, a), 8), tensor(x, {5}, w)}; }, {.ulps = 64, .differentiate = true, .slope = 40000, .noise = 1e-13}},
      {"linalg::eig linalg::eigvals", floats, {in({5, 5})}, [](A x) -> Results { const auto e = la::eig(x[0]); const auto v = la::eigvals(x[0]); const auto& w = e.eigenvalues; return {in_order(w, w.re), in_order(w, e.eigenvectors.re), in_order(w, w.im), in_order(w, e.eigenvectors.im), in_order(v, v.re), in_order(v, v.im)}; },
       [](T x) -> Exacts { const Tensors t = general_pairs(x); return {t[0], t[1], t[2], t[3], t[0], t[2]}; }, {.ulps = 64, .differentiate = true, .slope = 40000, .noise = 1e-13}},
      {"linalg::svd linalg::svdvals", floats, {tall}, [](A x) -> Results { const auto f = la::svd(x[0]); return {f.u, f.s, f.vt, la::svdvals(x[0])}; },
       [](T x) -> Exacts { const Decomposed d = singular(matrix(x[0])); return {scaled(tensor(x, d.u), 8), tensor(x, {4}, d.s), scaled(tensor(x, d.vt), 8), tensor(x, {4}, d.s)}; }, {.ulps = 64, .differentiate = true, .slope = 40000, .noise = 1e-13}},
      {"linalg::tridiagonal_solve", floats, {in({6}), in({6}, Draw::numbers, 4.5, 6), in({6}), in({6, 2})}, [](A x) -> Results { return la::tridiagonal_solve(x[0], x[1], x[2], x[3]); }, [](T x) -> Exacts { return tridiagonal(x); }, {.ulps = 16, .differentiate = true, .slope = 400, .noise = 1e-15}},
      {"linalg::tridiagonal_solve", floats, {in({1}), positive({1}), in({1}), in({1})}, [](A x) -> Results { return la::tridiagonal_solve(x[0], x[1], x[2], x[3]); },
       [](T x) -> Exacts { return like(x, {1}, [&](I i) { return x[3].at(i) / x[1].at(i); }); }, {.ulps = 4, .differentiate = true, .slope = 64}},
      {"linalg::solve(ComplexOperand,Complex) linalg::inv(ComplexOperand)", floats, {wide, in({5, 5}), in({5, 2}), in({5, 2})}, [](A x) -> Results { const gn::Complex a{x[0], x[1]}, y = la::solve(a, gn::Complex{x[2], x[3]}), i = la::inv(a); return {y.re, y.im, i.re, i.im}; },
       [](T x) -> Exacts { const Tensors y = complex_system(x, 2, [&](int i, int j) { return std::complex<double>(double(x[2](i, j)), double(x[3](i, j))); }), e = complex_system(x, 5, [](int i, int j) { return std::complex<double>(i == j); }); return {y[0], y[1], e[0], e[1]}; }, {.ulps = 128, .differentiate = true, .slope = 8000, .noise = 1e-14}},
      {"linalg::solve(Operand,Operand)", floats, {wide, in({5, 2})}, [](A x) -> Results { return la::solve(x[0], x[1]); },
       [](T x) -> Exacts { Matrix a = matrix(x[0]), b = matrix(x[1]); std::vector<lapack_int> p(5); LAPACKE_dgesv(LAPACK_ROW_MAJOR, 5, 2, a.a.data(), 5, p.data(), b.a.data(), 2); return tensor(x, b); }, solves},
      {"linalg::inv(Operand) linalg::det linalg::slogdet", floats, {wide}, [](A x) -> Results { const auto s = la::slogdet(x[0]); return {la::inv(x[0]), la::det(x[0]), s.sign, s.logabs}; },
       [](T x) -> Exacts { const Matrix a = matrix(x[0]); const double d = determinant(a); return {tensor(x, inverse(a)), number(x, d), number(x, d > 0 ? 1 : -1), number(x, std::log(std::fabs(d)))}; }, solves},
      {"linalg::det", floats, {in({3, 3}), in({2, 2})}, [](A x) -> Results { return {la::det(x[0]), la::det(x[1])}; },
       [](T x) -> Exacts { return {scaled(number(x, determinant(matrix(x[0]))), 16), scaled(number(x, determinant(matrix(x[1]))), 8)}; }, {.ulps = 8, .differentiate = true, .slope = 400, .noise = 1e-14}},
      {"linalg::pinv linalg::matrix_rank", floats, {tall}, [](A x) -> Results { return {la::pinv(x[0]), la::matrix_rank(x[0])}; },
       [](T x) -> Exacts { return {tensor(x, pseudoinverse(matrix(x[0]))), i32({}, [](I) { return 4; })}; }, solves},
      {"linalg::lstsq", floats, {tall, in({6, 2})}, [](A x) -> Results { const auto f = la::lstsq(x[0], x[1]); return {f.x, f.residuals, f.rank, f.s}; },
       [](T x) -> Exacts { Matrix a = matrix(x[0]), b = matrix(x[1]); LAPACKE_dgels(LAPACK_ROW_MAJOR, 'N', 6, 4, 2, a.a.data(), 4, b.a.data(), 2); Matrix y(4, 2); for (int i = 0; i < 4; ++i) for (int j = 0; j < 2; ++j) y(i, j) = b(i, j);
                           const Matrix p = product(matrix(x[0]), y), rhs = matrix(x[1]); std::vector<double> r(2); for (int i = 0; i < 6; ++i) for (int j = 0; j < 2; ++j) r[static_cast<std::size_t>(j)] += (p(i, j) - rhs(i, j)) * (p(i, j) - rhs(i, j));
                           return {tensor(x, y), tensor(x, {2}, r), i32({}, [](I) { return 4; }), tensor(x, {4}, singular(matrix(x[0])).s)}; }, solves},
      {"linalg::vector_norm", floats, {in({2, 6}, Draw::distinct)}, [](A x) -> Results { return {la::vector_norm(x[0], 2, 1), la::vector_norm(x[0], 1, 1), la::vector_norm(x[0], infinity, 1), la::vector_norm(x[0], -infinity, 1), la::vector_norm(x[0], 3, 1)}; },
       [](T x) -> Exacts { const auto n = [&](Number p) { return along(x[0].dtype, x[0], 1, [p](const std::vector<Number>& v) { std::vector<Number> a; for (const Number b : v) a.push_back(std::fabs(b)); if (std::isinf(p)) return p > 0 ? *std::max_element(a.begin(), a.end()) : *std::min_element(a.begin(), a.end()); Number s = 0; for (const Number b : a) s += std::pow(b, p); return std::pow(s, 1 / p); }); }; return {n(2), n(1), n(infinity), n(-infinity), n(3)}; }, {.ulps = 8, .differentiate = true, .slope = 64}},
      {"linalg::matrix_norm linalg::condition_number", floats, {wide}, [](A x) -> Results { using la::MatrixNorm; return {la::matrix_norm(x[0]), la::matrix_norm(x[0], MatrixNorm::one), la::matrix_norm(x[0], MatrixNorm::infinity), la::matrix_norm(x[0], MatrixNorm::two), la::matrix_norm(x[0], MatrixNorm::nuclear), la::condition_number(x[0]), la::condition_number(x[0], MatrixNorm::one)}; },
       [](T x) -> Exacts { const Matrix a = matrix(x[0]); const auto s = singular(a).s; const auto n = [](const Matrix& m, char k) { return LAPACKE_dlange(LAPACK_ROW_MAJOR, k, m.m, m.n, m.a.data(), m.n); }; double sum = 0; for (const double v : s) sum += v;
                           return {number(x, n(a, 'F')), number(x, n(a, '1')), number(x, n(a, 'I')), number(x, s[0]), number(x, sum), number(x, s[0] / s[4]), number(x, n(a, '1') * n(inverse(a), '1'))}; }, solves},
      {"linalg::matrix_power", floats, {in({3, 3}, Draw::dominant)}, [](A x) -> Results { return {la::matrix_power(x[0], 5), la::matrix_power(x[0], -2), la::matrix_power(x[0], 0)}; },
       [](T x) -> Exacts { const Matrix a = matrix(x[0]), b = inverse(a); Matrix one(3, 3); for (int i = 0; i < 3; ++i) one(i, i) = 1; return {tensor(x, product(product(product(a, a), product(a, a)), a)), tensor(x, product(b, b)), tensor(x, one)}; }, solves},
      {"linalg::expm", floats, {in({3, 3})}, [](A x) -> Results { return la::expm(x[0]); }, [](T x) -> Exacts { return tensor(x, exponential(matrix(x[0]))); }, {.ulps = 64, .differentiate = true, .slope = 400, .noise = 1e-15}},
      {"linalg::solve(Operand,Operand) linalg::cholesky linalg::eigvalsh", floats, {in({2, 3, 3}, Draw::definite), in({2, 3, 1})}, [](A x) -> Results { return {la::solve(x[0], x[1]), la::eigvalsh(x[0])}; },
       [](T x) -> Exacts { Tensor y(x[0].dtype, {2, 3, 1}), w(x[0].dtype, {2, 3}); for (std::size_t k = 0; k < 2; ++k) { Matrix a(3, 3), b(3, 1); std::copy_n(x[0].v.begin() + static_cast<std::ptrdiff_t>(9 * k), 9, a.a.begin()); std::copy_n(x[1].v.begin() + static_cast<std::ptrdiff_t>(3 * k), 3, b.a.begin()); Matrix c = a; std::vector<lapack_int> p(3); std::vector<double> e(3);
                             LAPACKE_dgesv(LAPACK_ROW_MAJOR, 3, 1, a.a.data(), 3, p.data(), b.a.data(), 1); LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'N', 'U', 3, c.a.data(), 3, e.data()); std::copy(b.a.begin(), b.a.end(), y.v.begin() + static_cast<std::ptrdiff_t>(3 * k)); std::copy(e.begin(), e.end(), w.v.begin() + static_cast<std::ptrdiff_t>(3 * k)); }
                           return {scaled(y, 1), scaled(w, 4)}; }, values},
  }};
}
// clang-format on

}  // namespace oracle
