// tests/engine/nn_checks.cpp -- layers beside loops over doubles.
#include "tests/engine/nn_checks.h"

#include <cmath>
#include <random>

namespace gnomon::testing {

Numbers grid(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  Numbers numbers;
  while (numbers.size() < count) {
    const int k = static_cast<int>(random() % 255) - 127;
    if (k != 0) numbers.push_back(k / 64.0);
  }
  return numbers;
}

Array Parts::operator()(const Shape& shape) {
  const Dim from = at_;
  at_ += shape.size();
  return reshape(slice_axis(flat_, 0, from, at_), shape);
}

namespace {

double factor(std::size_t i) { return std::sin(1.3 * double(i) + 0.4); }

double total(const Numbers& y) {
  double sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i) sum += factor(i) * y[i];
  return sum;
}

/// Differences of fourth order.
Numbers differences(const LayerCase& c, const Numbers& at) {
  const double h = 1e-3;
  Numbers slopes;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const auto moved = [&](double by) {
      Numbers x = at;
      x[i] += by;
      return total(c.loop(NumberParts(x)));
    };
    slopes.push_back((8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h));
  }
  return slopes;
}

}  // namespace

void expect_as_looped(const LayerCase& c) {
  SCOPED_TRACE(c.name);
  const Numbers at = grid(static_cast<std::size_t>(c.numbers));
  const Numbers values = c.loop(NumberParts(at)), slopes = differences(c, at);
  for (const DType dtype : {DType::f32, DType::f64}) {
    SCOPED_TRACE(std::string(name(dtype)));
    const double tolerance = dtype == DType::f32 ? c.f32 : c.f64;
    const HostArray flat = test::host(dtype, {c.numbers}, at);
    test::expect_near(test::run([&](const Array& x) { return ravel(c.layer(Parts(x))); }, flat),
                      values, tolerance);
    const auto loss = [&](const Array& x) {
      const Array y = ravel(c.layer(Parts(x)));
      std::vector<Array> factors;
      for (std::size_t i = 0; i < values.size(); ++i) factors.push_back(full({}, factor(i), dtype));
      return sum(y * stack(factors));
    };
    const Numbers gradient = test::run([&](const Array& x) { return grad(loss)(x); }, flat);
    test::expect_near(gradient, slopes, 10 * tolerance);
  }
}

}  // namespace gnomon::testing
