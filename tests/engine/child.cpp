// tests/engine/child.cpp -- what the other process computes, and how it is started.
#include "tests/engine/child.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>

#include "gnomon/control.h"
#include "gnomon/jit.h"
#include "gnomon/linalg.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/support/platform.h"

namespace gnomon::testing {
namespace {

constexpr char flag[] = "--child-with-cache";

bool near(const std::vector<float>& got, const std::vector<double>& want) {
  if (got.size() != want.size()) return false;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!(std::abs(got[i] - want[i]) <= 1e-4 * (1 + std::abs(want[i])))) return false;
  }
  return true;
}

// Straight-line code, a factorisation with a solution that is known, a loop whose length the data
// decide, and lanes that take different numbers of steps.
bool compute(Runtime& rt) {
  bool right = true;
  std::vector<float> x(500);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) - 8;
  std::vector<double> want;
  for (const float v : x) want.push_back(3.0 * v * v + 1);
  auto polynomial = jit(rt, [](const Array& a) { return 3 * a * a + 1; });
  right &= near(rt.to_host<float>(polynomial(rt.from_host(x))), want);

  constexpr Dim n = 12;
  std::vector<float> matrix(n * n), rhs(n);
  for (Dim i = 0; i < n; ++i) {
    for (Dim j = 0; j < n; ++j) {
      matrix[static_cast<std::size_t>(i * n + j)] =
          (i == j ? 20.0f : 0.0f) + static_cast<float>((3 * i + 5 * j) % 7);
      rhs[static_cast<std::size_t>(i)] +=
          matrix[static_cast<std::size_t>(i * n + j)] * static_cast<float>(j + 1);
    }
  }
  want.clear();
  for (Dim j = 0; j < n; ++j) want.push_back(static_cast<double>(j + 1));
  auto solve = jit(rt, [](const Array& a, const Array& b) { return linalg::solve(a, b); });
  right &=
      near(rt.to_host<float>(solve(rt.from_host(matrix, Shape(n, n)), rt.from_host(rhs))), want);

  using State = std::pair<Array, Array>;
  const auto halvings = [](const Array& a) {
    return while_loop([](const State& s) { return s.first > 1.0f; },
                      [](const State& s) { return State(s.first * 0.5f, s.second + 1.0f); },
                      State(a, zeros_like(a)), {.max_steps = 64})
        .second;
  };
  want.clear();
  std::vector<float> large;
  for (int i = 0; i < 40; ++i) {
    large.push_back(std::ldexp(1.0f, i));
    want.push_back(i);
  }
  auto lanes = jit(rt, [=](const Array& a) { return vmap(halvings)(a); });
  right &= near(rt.to_host<float>(lanes(rt.from_host(large))), want);
  return right;
}

}  // namespace

bool is_child(int argc, char** argv) { return argc == 3 && std::strcmp(argv[1], flag) == 0; }

int child(const std::string& folder) {
  try {
    RuntimeOptions options;
    options.cache = folder;
    Runtime rt(options);
    const bool right = compute(rt);
    const Counters c = rt.counters();
    const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
    std::printf("%d %llu %llu %llu %llu %llu %llu\n", right, number(c.programs_compiled),
                number(c.programs_loaded), number(c.modules_emitted), number(c.pipelines),
                number(c.new_pipelines), number(c.files_damaged));
    return right ? 0 : 1;
  } catch (const Error& e) {
    std::printf("%s\n", e.what());
    return 2;
  }
}

std::vector<ChildReport> run_children(int count, const std::string& folder) {
  std::vector<std::FILE*> running;
  const std::string command = "\"" + own_program().string() + "\" " + flag + " \"" + folder + "\"";
  for (int i = 0; i < count; ++i) running.push_back(open_pipe(command));
  std::vector<ChildReport> reports;
  for (std::FILE* out : running) {
    ChildReport r;
    if (out != nullptr) {
      unsigned long long n[6] = {};
      int right = 0;
      const int read = std::fscanf(out, "%d %llu %llu %llu %llu %llu %llu", &right, &n[0], &n[1],
                                   &n[2], &n[3], &n[4], &n[5]);
      r.right = read == 7 && right == 1;
      r.status = close_pipe(out);
      r.compiled = n[0];
      r.loaded = n[1];
      r.emitted = n[2];
      r.pipelines = n[3];
      r.new_pipelines = n[4];
      r.damaged = n[5];
    }
    reports.push_back(r);
  }
  return reports;
}

}  // namespace gnomon::testing
