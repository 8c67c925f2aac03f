// tests/oracle/host_test.cpp -- the table on the host reference, and whether it is whole.
#include <gtest/gtest.h>

#include "check.h"
#include "codegen/graph/evaluate.h"
#include "codegen/graph/primitive.h"
#include "codegen/simplify/simplify.h"
#include "codegen/trace/function.h"
#include "coverage.h"

namespace oracle {
namespace {

void collect(const gnomon::Graph& graph, std::set<std::string>& names) {
  for (const gnomon::Equation& e : graph.equations) {
    names.emplace(e.primitive->name);
    for (const gnomon::GraphPtr& inner : e.params.graphs()) collect(*inner, names);
  }
}

/// Evaluates graphs by the reference rules; notes their primitives.
Machine host(std::set<std::string>* met = nullptr) {
  return {[met](const Program& f, const std::vector<HostArray>& inputs) {
    Arrays arguments;
    for (const HostArray& h : inputs) arguments.push_back(gnomon::placeholder(h.aval));
    const gnomon::Graph graph = gnomon::make_graph(f, arguments).graph;
    if (met != nullptr) {
      collect(graph, *met);
      collect(gnomon::simplify(graph), *met);
    }
    return gnomon::evaluate(graph, inputs);
  }};
}

class OnTheHost : public ::testing::TestWithParam<Family> {};

TEST_P(OnTheHost, EveryRowIsRight) {
  for (const std::string& complaint : check(GetParam(), host())) ADD_FAILURE() << complaint;
}
INSTANTIATE_TEST_SUITE_P(Oracle, OnTheHost, ::testing::ValuesIn(table()),
                         [](const auto& at) { return std::string(at.param.name); });

TEST(OracleTable, HasARowForEveryFunctionOfThePublicHeaders) {
  const std::vector<Declared> functions = public_functions(GNOMON_ROOT_DIR);
  const std::set<std::string> rows = covered(table());
  EXPECT_GT(functions.size(), 500u);
  for (const Declared& f : functions)
    if (rows.count(f.name) == 0 && reason_for_none(f.name).empty())
      ADD_FAILURE() << f.name << " (" << f.header << ") has no row in tests/oracle";
  std::set<std::string> names;
  for (const Declared& f : functions) names.insert(f.name);
  for (const std::string& row : rows)
    if (names.count(row) == 0) ADD_FAILURE() << row << " has a row, and no header declares it";
  for (const std::string& pattern : idle_exemptions(functions))
    ADD_FAILURE() << pattern << " is exempt, and no header declares such";
}

TEST(OracleTable, ReadsDeclarationsAsACompilerDoes) {
  const std::string text = R"(
    namespace gnomon::fft {
    /// Not f(int).
    struct Options { int axis = -1; int size() const { return axis; } void (*hook)(int) = nullptr; };
    Complex fft(const ComplexOperand& x, Options options = {.axis = 2}, Loc loc = Loc::here());
    namespace detail { void hidden(int); }
    template <class T> requires(sizeof(T) > 1) inline T twice(std::vector<T> v) { return v[0] + (1 < 2); }
    class Box { public: Box(); Array operator[](int i) const; private: void mine(); };
    constexpr int one = int{1} << 2;
    }
    inline Array operator<<(Operand a, Operand b) { return left_shift(a, b); }
  )";
  std::vector<std::string> names;
  for (const Declared& f : declared_functions(text, "h")) names.push_back(f.name);
  const std::vector<std::string> want{"fft::Options::size()", "fft::fft(ComplexOperand,Options)",
                                      "fft::twice(vector<T>)", "fft::Box::operator[](int)",
                                      "operator<<(Operand,Operand)"};
  EXPECT_EQ(names, want);
}

TEST(OracleTable, ReachesEveryPrimitive) {
  std::set<std::string> met;
  const Machine machine = host(&met);
  for (Family f : table()) {
    // One dtype shows an operation; what it computes is told above.
    check(f,
          {[&](const Program& p, const std::vector<HostArray>& inputs) -> std::vector<HostArray> {
             Arrays arguments;
             for (const HostArray& h : inputs) arguments.push_back(gnomon::placeholder(h.aval));
             const gnomon::Graph graph = gnomon::make_graph(p, arguments).graph;
             collect(graph, met);
             collect(gnomon::simplify(graph), met);
             throw std::runtime_error("traced");
           },
           false});
  }
  for (const gnomon::Primitive* p : gnomon::primitives()) {
    const std::string name(p->name);
    const std::string reason = reason_for_unreached(name);
    EXPECT_EQ(met.count(name) == 0, !reason.empty())
        << name << " is met by "
        << (met.count(name) != 0 ? "a row, and exempt" : "no row of tests/oracle");
  }
}

class SlowExactness : public ::testing::TestWithParam<Exact> {};
TEST_P(SlowExactness, HoldsForTenMillionPairs) {
  for (const DType t : {DType::f32, DType::f64})
    for (const std::string& complaint : check_exact(GetParam(), t, 10'000'000, host()))
      ADD_FAILURE() << complaint;
}
INSTANTIATE_TEST_SUITE_P(Oracle, SlowExactness, ::testing::ValuesIn(ieee().exact));

}  // namespace
}  // namespace oracle
