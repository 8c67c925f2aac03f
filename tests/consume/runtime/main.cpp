// tests/consume/runtime/main.cpp -- numbers to the device and back, without a compiler.
#include <gnomon/runtime.h>

#include <cstdio>

int main() {
  gnomon::Runtime rt = gnomon::Runtime::without_compiler();
  for (const float x : rt.to_host<float>(rt.from_host({1.0f, 2.0f, 3.0f}, {3})))
    std::printf("%g ", static_cast<double>(x));
}
