// tests/support/graph_host.cpp -- what tests/codegen/graph_host.h declares, for several floors.
#include "tests/codegen/graph_host.h"

#include <cmath>

#include "codegen/graph/text.h"
#include "codegen/graph/verify.h"

namespace gnomon::test {

HostArray host(DType dtype, const Shape& shape, const Numbers& values) {
  HostArray h(Aval{dtype, shape});
  EXPECT_EQ(static_cast<std::size_t>(h.size()), values.size());
  for (Dim i = 0; i < h.size(); ++i) h.set_number(i, values[static_cast<std::size_t>(i)]);
  return h;
}

HostArray counting(const Shape& shape, DType t) {
  HostArray h(Aval{t, shape});
  for (Dim i = 0; i < h.size(); ++i) h.set_number(i, static_cast<double>(i));
  return h;
}

Numbers numbers(const HostArray& a) {
  Numbers r;
  for (Dim i = 0; i < a.size(); ++i) r.push_back(a.number(i));
  return r;
}

std::vector<Numbers> numbers(const std::vector<HostArray>& arrays) {
  std::vector<Numbers> r;
  for (const HostArray& a : arrays) r.push_back(numbers(a));
  return r;
}

void check_complete(const Graph& graph, const Arrays& captures) {
  EXPECT_TRUE(captures.empty());
  verify(graph);
}

void expect_near(const Numbers& got, const Numbers& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(got[i], want[i], tolerance * (1 + std::fabs(want[i]))) << "element " << i;
}

int count_equations(const Graph& graph, std::string_view name) {
  int n = 0;
  for (const Equation& e : graph.equations) {
    n += e.primitive->name == name;
    for (const GraphPtr& inner : e.params.graphs()) n += count_equations(*inner, name);
  }
  return n;
}
const Equation& only_equation(const Graph& graph, std::string_view name) {
  const Equation* found = nullptr;
  for (const Equation& e : graph.equations) {
    if (e.primitive->name == name) found = &e;
  }
  if (!found) throw InternalError("no " + std::string(name) + " in " + print(graph));
  return *found;
}

}  // namespace gnomon::test
