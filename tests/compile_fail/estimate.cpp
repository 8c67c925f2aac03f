// tests/compile_fail/estimate.cpp -- numbers of products that are not known when tracing.
#include "gnomon/estimate.h"
#include "gnomon/operators.h"
#include "gnomon/ops.h"

namespace gn = gnomon;
using gn::Array;

auto good(const Array& a, const Array& k) {
  // What depends on sizes is a C++ number.
  const auto products = std::min<gn::Dim>(64, a.dim(0));
  const auto fixed = gn::estimate::trace(gn::random::key(1), gn::operators::Dense{a}, products);
  return fixed.value * k;
}

// CASE 1: expect "gnomon::estimate::trace: k is a C++ number, since the sizes"
#ifdef CASE_1
auto bad(const Array& a, const Array& k) {
  return gn::estimate::trace(gn::random::key(1), gn::operators::Dense{a}, k);
}
#endif

// CASE 2: expect "gnomon::estimate::trace_of: the function takes and gives an Array"
#ifdef CASE_2
auto bad(const Array& a) {
  const auto f = [](double x) { return x; };
  return gn::estimate::trace_of(f, gn::random::key(1), gn::operators::Dense{a}, 4, 4);
}
#endif
