// tests/consume/save_neural_ode.cpp -- saves the neural ODE that consumers without a compiler run,
// its arguments, and what the host says it computes.
#include <cstdio>
#include <fstream>
#include <string>

#include "gnomon/aot.h"
#include "tests/aot/neural_ode.h"

namespace {

using namespace gnomon;

// The arguments of the program one after the other, then y at the end, all f32.
void write_numbers(const std::string& path, float end) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) throw FileError("save_neural_ode: \"" + path + "\" cannot be written");
  const auto put = [&](const std::vector<float>& x) {
    std::fwrite(x.data(), sizeof(float), x.size(), file);
  };
  const auto y = testing::host_solution({0.5, -0.25}, end);
  put(testing::inner_weights());
  put(testing::bias_weights());
  put(testing::outer_weights());
  put({0.5f, -0.25f});
  put({end});
  put({static_cast<float>(y[0]), static_cast<float>(y[1])});
  std::fclose(file);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: save_neural_ode PROGRAM NUMBERS HEADER\n");
    return 2;
  }
  try {
    Runtime rt;
    const auto f = jit(rt, testing::solve_field, {.name = "solve"});
    const Array y0 = rt.from_host({0.5f, -0.25f}), end = rt.from_host(3.0f);
    const std::vector<aot::Entry> entries = {{"solve", f.lower(testing::field_on(rt), y0, end)}};
    const std::string digest = aot::save(argv[1], entries);
    write_numbers(argv[2], 3.0f);
    std::ofstream(argv[3], std::ios::binary) << aot::header_text(entries, "neural_ode");
    std::printf("%s\n", digest.c_str());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
