// tests/oracle/table_random.cpp -- keys and bits against Threefry written a second time, draws
// against distribution functions.
#include <numbers>

#include "gnomon/indexing.h"
#include "gnomon/random.h"
#include "gnomon/sorting.h"
#include "gnomon/tree.h"
#include "rows.h"
#include "tests/codegen/host_random.h"

namespace oracle {
namespace {

namespace ra = gnomon::random;
using gnomon::Key;
using gnomon::test::HostKey;
constexpr auto partitionable = ra::Mode::partitionable;
constexpr auto original = ra::Mode::original;

Tensor words(const std::vector<std::uint32_t>& w, const Shape& s) {
  Tensor t(DType::u32, s);
  std::copy(w.begin(), w.end(), t.v.begin());
  return t;
}
Tensor words(const HostKey& k) { return words({k.k0, k.k1}, {2}); }
Number fraction(std::uint32_t bits) { return static_cast<Number>(bits >> 9) / 0x1p23L; }

// Distribution functions.
double normal(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }
double gamma_of(double a, double x) {
  if (!(x > 0)) return 0;
  Real::digits = 96;
  return gammainc(Real(a), Real(x)).number();
}
double beta_of(double a, double b, double x) {
  Real::digits = 96;
  return x <= 0 ? 0 : x >= 1 ? 1 : betainc(Real(a), Real(b), Real(x)).number();
}
double student(double df, double x) {
  const double tail = beta_of(df / 2, 0.5, df / (df + x * x)) / 2;
  return x > 0 ? 1 - tail : tail;
}
double binomial(int n, double p, double x) {
  return x < 0 ? 0 : x >= n ? 1 : 1 - beta_of(std::floor(x) + 1, n - std::floor(x), p);
}
double uniform(double x) { return std::clamp(x, 0.0, 1.0); }
double cubed(double x) { return x <= 0 ? 0 : std::fmin(x * x * x, 1); }

}  // namespace

// Rows are laid out as those of tables.
// clang-format off
Family random_numbers() {
  constexpr Dim n = draws;
  return {.name = "Random", .general = {
      {"random::key(int64_t) random::key(int64_t,Mode) random::key(Array) random::key(Array,Mode) Key::clone", single, {whole({}, 42, 43)}, [](A x) -> Results { return {ra::key(42).words(), ra::key(7, original).words(), ra::key(x[0]).words(), ra::key(x[0], original).clone().words()}; },
       [](T) -> Exacts { return {words(HostKey(42)), words(HostKey(7)), words(HostKey(42)), words(HostKey(42))}; }},
      {"random::split(Key,Dim) random::split(Key) Keys::operator[] random::fold_in", single, {}, [](A) -> Results { const auto three = ra::split(ra::key(42), 3); const auto old = ra::split(ra::key(42, original), 3); const auto two = ra::split<2>(ra::key(42)); return {three.words(), old.words(), two[1].words(), three[-1].words(), ra::fold_in(ra::key(42), 9).words()}; },
       [](T) -> Exacts { const auto all = [](ra::Mode m) { std::vector<std::uint32_t> w; for (const HostKey& k : HostKey(42, m).split(3)) w.insert(w.end(), {k.k0, k.k1}); return words(w, {3, 2}); };
                         std::uint32_t a = 0, b = 9; gnomon::test::threefry(0, 42, a, b); return {all(partitionable), all(original), words(HostKey(42).split(2)[1]), words(HostKey(42).split(3)[2]), words({a, b}, {2})}; }},
      // The first words of key 0 in the original mode, as JAX documents its streams.
      {"random::bits", single, {}, [](A) -> Results { return {ra::bits(ra::key(0, original), {8}), ra::bits(ra::key(42), {9}), ra::bits(ra::key(42), {5}, DType::u8)}; },
       [](T) -> Exacts { const auto w = HostKey(42).bits(9), few = HostKey(42).bits(5); std::vector<std::uint32_t> low; for (const std::uint32_t v : few) low.push_back(v & 255); Tensor bytes = words(low, {5}); bytes.dtype = DType::u8;
                         return {words({2285895361u, 1501764800u, 1518642379u, 4090693311u, 433833334u, 4221794875u, 839183663u, 3740430601u}, {8}), words(w, {9}), bytes}; }},
      // Golden values of JAX's documentation and tests beside the definition.
      {"random::uniform random::normal", single, {}, [](A) -> Results { return {ra::uniform(ra::key(42), {9}), ra::uniform(ra::key(0, original), {6}), ra::normal(ra::key(0, original), {6}), ra::normal(ra::key(42), {}), ra::uniform(ra::key(42), {9}, -3.0, 5.0)}; },
       [](T) -> Exacts { const auto w = HostKey(42).bits(9); const auto list = [](std::vector<Number> v) { return scaled(made(DType::f32, {static_cast<Dim>(v.size())}, [&](I i) { return v[static_cast<std::size_t>(i[0])]; }), 1); };
                         return {made(DType::f32, {9}, [&](I i) { return fraction(w[static_cast<std::size_t>(i[0])]); }), list({.57450044L, .09968603L, .74196589L, .89417827L, .59656656L, .45325184L}), list({.18784384L, -1.28334260L, .64941812L, 1.24905932L, .24447003L, -.11744965L}), scaled(made(DType::f32, {}, [](I) { return -0.028304616L; }), 1), scaled(made(DType::f32, {9}, [&](I i) { return -3 + 8 * fraction(w[static_cast<std::size_t>(i[0])]); }), 5)}; }, {.ulps = 1}},
      {"random::permutation(Key,Dim) random::choice(Key,Dim,Shape,ChoiceOptions)", single, {},
       [](A) -> Results { return {gn::sort(ra::permutation(ra::key(3), 9)), gn::sort(ra::choice(ra::key(3), 9, {9}, {.replace = false}))}; },
       [](T) -> Exacts { const Tensor all = i32({9}, [](I i) { return i[0]; }); return {all, all}; }},
      {"random::permutation(Key,Operand,int) random::shuffle", single, {in({7}, Draw::distinct), in({2, 5}, Draw::distinct)},
       [](A x) -> Results { return {gn::sort(ra::permutation(ra::key(3), x[0])), gn::sort(ra::shuffle(ra::key(3), x[1], 1))}; },
       [](T x) -> Exacts { const auto up = [](std::vector<Number> v) { std::sort(v.begin(), v.end()); return v; }; return {lines(DType::f32, x[0], 0, up), lines(DType::f32, x[1], 1, up)}; }},
  }, .drawn = {
      {"random::randint", [](Key k) -> Array { return ra::randint(std::move(k), {n}, -3, 7); }, [](double x) { return std::clamp((std::floor(x) + 4) / 10, 0.0, 1.0); }, true},
      {"random::bernoulli", [](Key k) -> Array { return ra::bernoulli(std::move(k), 0.3, {n}); }, [](double x) { return x < 0 ? 0 : x < 1 ? 0.7 : 1; }, true},
      {"random::rademacher", [](Key k) -> Array { return ra::rademacher(std::move(k), {n}); }, [](double x) { return x < -1 ? 0 : x < 1 ? 0.5 : 1; }, true},
      {"random::geometric", [](Key k) -> Array { return ra::geometric(std::move(k), 0.2, {n}); }, [](double x) { return x < 1 ? 0 : 1 - std::pow(0.8, std::floor(x)); }, true},
      {"random::uniform", [](Key k) -> Array { return ra::uniform(std::move(k), {n}); }, uniform},
      {"random::normal", [](Key k) -> Array { return ra::normal(std::move(k), {n}); }, normal},
      {"random::truncated_normal", [](Key k) -> Array { return ra::truncated_normal(std::move(k), -0.5, 2, {n}); }, [](double x) { return std::clamp((normal(x) - normal(-0.5)) / (normal(2) - normal(-0.5)), 0.0, 1.0); }},
      {"random::lognormal", [](Key k) -> Array { return ra::lognormal(std::move(k), 0.5, {n}); }, [](double x) { return x <= 0 ? 0 : normal(std::log(x) / 0.5); }},
      {"random::exponential", [](Key k) -> Array { return ra::exponential(std::move(k), {n}); }, [](double x) { return x <= 0 ? 0 : -std::expm1(-x); }},
      {"random::gumbel", [](Key k) -> Array { return ra::gumbel(std::move(k), {n}); }, [](double x) { return std::exp(-std::exp(-x)); }},
      {"random::laplace", [](Key k) -> Array { return ra::laplace(std::move(k), {n}); }, [](double x) { return x < 0 ? std::exp(x) / 2 : 1 - std::exp(-x) / 2; }},
      {"random::logistic", [](Key k) -> Array { return ra::logistic(std::move(k), {n}); }, [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"random::cauchy", [](Key k) -> Array { return ra::cauchy(std::move(k), {n}); }, [](double x) { return 0.5 + std::atan(x) / std::numbers::pi; }},
      {"random::pareto", [](Key k) -> Array { return ra::pareto(std::move(k), 2.5, {n}); }, [](double x) { return x <= 1 ? 0 : 1 - std::pow(x, -2.5); }},
      {"random::rayleigh", [](Key k) -> Array { return ra::rayleigh(std::move(k), 2, {n}); }, [](double x) { return x <= 0 ? 0 : -std::expm1(-x * x / 8); }},
      {"random::weibull", [](Key k) -> Array { return ra::weibull(std::move(k), 2, 1.5, {n}); }, [](double x) { return x <= 0 ? 0 : -std::expm1(-std::pow(x / 2, 1.5)); }},
      {"random::maxwell", [](Key k) -> Array { return ra::maxwell(std::move(k), {n}); }, [](double x) { return gamma_of(1.5, x * x / 2); }},
      {"random::double_sided_maxwell", [](Key k) -> Array { return ra::double_sided_maxwell(std::move(k), 1, 2, {n}); }, [](double x) { const double z = (x - 1) / 2, g = gamma_of(1.5, z * z / 2); return z < 0 ? (1 - g) / 2 : (1 + g) / 2; }},
      {"random::triangular", [](Key k) -> Array { return ra::triangular(std::move(k), 0, 1, 4, {n}); }, [](double x) { return x <= 0 ? 0 : x < 1 ? x * x / 4 : x < 4 ? 1 - (4 - x) * (4 - x) / 12 : 1; }},
      {"random::gamma", [](Key k) -> Array { return ra::gamma(std::move(k), 0.7, {n}); }, [](double x) { return gamma_of(0.7, x); }},
      {"random::loggamma", [](Key k) -> Array { return ra::loggamma(std::move(k), 2.5, {n}); }, [](double x) { return gamma_of(2.5, std::exp(x)); }},
      {"random::poisson", [](Key k) -> Array { return ra::poisson(std::move(k), 4, {n}); }, [](double x) { return x < 0 ? 0 : 1 - gamma_of(std::floor(x) + 1, 4); }, true},
      {"random::poisson", [](Key k) -> Array { return ra::poisson(std::move(k), 40, {n}); }, [](double x) { return x < 0 ? 0 : 1 - gamma_of(std::floor(x) + 1, 40); }, true},
      {"random::binomial", [](Key k) -> Array { return ra::binomial(std::move(k), 12, 0.3, {n}); }, [](double x) { return binomial(12, 0.3, x); }, true},
      {"random::binomial", [](Key k) -> Array { return ra::binomial(std::move(k), 200, 0.4, {n}); }, [](double x) { return binomial(200, 0.4, x); }, true},
      {"random::beta", [](Key k) -> Array { return ra::beta(std::move(k), 2, 3.5, {n}); }, [](double x) { return beta_of(2, 3.5, x); }},
      {"random::dirichlet", [](Key k) -> Array { return ra::dirichlet(std::move(k), gn::array({1.5, 2.0, 0.5}), {n}).at(gn::every, 0).get(); }, [](double x) { return beta_of(1.5, 2.5, x); }},
      {"random::chisquare", [](Key k) -> Array { return ra::chisquare(std::move(k), 3, {n}); }, [](double x) { return gamma_of(1.5, x / 2); }},
      {"random::student_t", [](Key k) -> Array { return ra::student_t(std::move(k), 5, {n}); }, [](double x) { return student(5, x); }},
      {"random::fisher_f", [](Key k) -> Array { return ra::fisher_f(std::move(k), 4, 7, {n}); }, [](double x) { return x <= 0 ? 0 : beta_of(2, 3.5, 4 * x / (4 * x + 7)); }},
      {"random::generalized_normal", [](Key k) -> Array { return ra::generalized_normal(std::move(k), 3, {n}); }, [](double x) { const double g = gamma_of(1.0 / 3, std::pow(std::fabs(x), 3)); return x < 0 ? (1 - g) / 2 : (1 + g) / 2; }},
      {"random::ball", [](Key k) -> Array { return gn::norm(ra::ball(std::move(k), 3, 2, {n}), 1); }, cubed},
      // Archimedes: a coordinate of a point on the sphere is uniform.
      {"random::sphere", [](Key k) -> Array { return ra::sphere(std::move(k), 3, {n}).at(gn::every, 2).get(); }, [](double x) { return uniform((x + 1) / 2); }},
      {"random::orthogonal", [](Key k) -> Array { return ra::orthogonal(std::move(k), 3, {n}).at(gn::every, 1, 2).get(); }, [](double x) { return uniform((x + 1) / 2); }},
      {"random::multivariate_normal", [](Key k) -> Array { const Array c = gn::reshape(gn::array({2.0, 0.6, 0.6, 1.0}), {2, 2}); const Array x = ra::multivariate_normal(std::move(k), gn::array({1.0, -1.0}), c, {n}); return (x.at(gn::every, 0).get() + x.at(gn::every, 1).get()) / std::sqrt(4.2); }, normal},
      {"random::choice(Key,Dim,Shape,ChoiceOptions)", [](Key k) -> Array { return ra::choice(std::move(k), 4, {n}, {.p = gn::array({0.1, 0.2, 0.3, 0.4})}); }, [](double x) { constexpr double c[] = {0.1, 0.3, 0.6, 1}; return x < 0 ? 0 : c[std::min(static_cast<int>(x), 3)]; }, true},
      {"random::choice(Key,Operand,Shape,ChoiceOptions,int)", [](Key k) -> Array { return ra::choice(std::move(k), gn::array({2.0, 5.0}), {n}); }, [](double x) { return x < 2 ? 0 : x < 5 ? 0.5 : 1; }, true},
      {"random::categorical", [](Key k) -> Array { return ra::categorical(std::move(k), gn::log(gn::array({0.1, 0.2, 0.7})), -1, Shape{n}); }, [](double x) { return x < 0 ? 0 : x < 1 ? 0.1 : x < 2 ? 0.3 : 1; }, true},
  }};
}
// clang-format on

}  // namespace oracle
