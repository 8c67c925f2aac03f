// tests/consume/runtime/typed.cpp -- a saved neural ODE by its header: no types, names or shapes of
// its own.
#include <neural_ode.h>

#include <cmath>
#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  // Weights, y0 and end in the order of the arguments; y at the end.
  std::vector<float> numbers(32 + 16 + 32 + 2 + 1 + 2);
  std::FILE* const file = std::fopen(argv[2], "rb");
  if (!file || std::fread(numbers.data(), 4, numbers.size(), file) != numbers.size()) return 2;
  std::fclose(file);
  gnomon::Runtime rt = gnomon::Runtime::without_compiler();
  const neural_ode::Functions functions = neural_ode::load(rt, argv[1]);
  std::size_t at = 0;
  const auto take = [&](const gnomon::Shape& shape) {
    const auto first = numbers.begin() + static_cast<std::ptrdiff_t>(at);
    at += static_cast<std::size_t>(shape.size());
    return rt.from_host(std::vector<float>(first, first + shape.size()), shape);
  };
  neural_ode::solve::Argument0 field;
  field.inner = take({16, 2});
  field.bias = take({16});
  field.outer = take({2, 16});
  const gnomon::Array y0 = take({2}), end = take({});
  const auto r = functions.solve(field, y0, end);
  const std::vector<float> y = rt.to_host<float>(r[0]);
  for (std::size_t i = 0; i < 2; ++i)
    if (std::abs(y[i] - numbers[at + i]) > 1e-4f) return 1;
  if (rt.item<int>(r[1]) < 3) return 1;
  std::puts("as saved");
}
