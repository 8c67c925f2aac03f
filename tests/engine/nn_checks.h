// tests/engine/nn_checks.h -- layers on the host reference beside loops over doubles that say the
// same: values, and derivatives in every number that they depend on.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "gnomon/nn.h"
#include "gnomon/tree_ops.h"
#include "tests/codegen/graph_host.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {

using test::Numbers;

/// `count` multiples of 1/64 in (-2, 2), all different from zero: f32 holds them exactly.
Numbers grid(std::size_t count, unsigned seed = 1);

/// Arrays one after the other out of a flat one.
class Parts {
 public:
  explicit Parts(const Array& flat) : flat_(flat) {}
  Array operator()(const Shape& shape);
  Dim used() const { return at_; }

 private:
  Array flat_;
  Dim at_ = 0;
};
/// The same of numbers.
class NumberParts {
 public:
  explicit NumberParts(const Numbers& flat) : at_(flat.data()) {}
  const double* operator()(Dim count) { return (at_ += count) - count; }

 private:
  const double* at_;
};

/// A layer as a function of its weights and inputs, all in one array.
struct LayerCase {
  const char* name;
  Dim numbers;  // weights and inputs
  std::function<Array(Parts)> layer;
  std::function<Numbers(NumberParts)> loop;
  double f32 = 1e-5, f64 = 1e-10;
};

/// Values in f32 and f64, and the gradient of a sum of them with unequal factors against central
/// differences of the loop.
void expect_as_looped(const LayerCase&);

}  // namespace gnomon::testing
