// tests/consume/embedded/main.cpp -- the smallest program that compiles something.
#include <gnomon/gnomon.h>

#include <cstdio>

int main() {
  gnomon::Runtime rt;
  const auto square = gnomon::jit(rt, [](const gnomon::Array& x) { return x * x; });
  for (const float x : rt.to_host<float>(square(rt.from_host({0.0f, 1.0f, 2.0f}, {3}))))
    std::printf("%g ", static_cast<double>(x));
}
