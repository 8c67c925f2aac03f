// tests/compile_fail/layers.cpp -- misuse of layers that is visible in types.
#include <utility>

#include "gnomon/nn.h"
#include "gnomon/ops.h"
#include "gnomon/random.h"

namespace gn = gnomon;
using gn::Array;

/// Keeps a count.
struct Counting {
  std::pair<Array, int> operator()(const Array& x, int count) const { return {x, count + 1}; }
};

Array good(const Array& x) {
  return gn::nn::Sequential{Counting{}, gn::nn::Lambda{gn::relu}}(x, 0).first;
}

// CASE 1: expect "Layers that keep a state need one, net(x, state), and those that draw need"
#ifdef CASE_1
Array bad(const Array& x) { return gn::nn::Sequential{Counting{}, gn::nn::Lambda{gn::relu}}(x); }
#endif

// CASE 2: expect "gnomon::Key: a key gives one draw, and this would be its second use"
#ifdef CASE_2
Array bad(const Array& x, gn::Key key) { return gn::nn::Dropout{0.5}(x, key); }
#endif
