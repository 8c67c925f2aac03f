// tests/bench/gnomon_cold_process.cpp -- the program starts itself again, and reads what it says.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>

#include "cold_process.h"

namespace bench {
namespace {

template <class T>
void put(const T* values, std::size_t count) {
  if (std::fwrite(values, sizeof(T), count, stdout) != count)
    throw std::runtime_error("bench: cannot write a first call to standard output");
}
template <class T>
void take(std::FILE* from, T* values, std::size_t count, const std::string& name) {
  if (std::fread(values, sizeof(T), count, from) != count)
    throw std::runtime_error("bench: the process for " + name + " ended without a result");
}

}  // namespace

void write_first_call(const std::string& name) {
  const FirstCall call = first_call(name);
  const double numbers[] = {call.milliseconds, call.pipelines};
  const std::uint64_t size = call.result.size();
  put(numbers, 2);
  put(&size, 1);
  put(call.result.data(), call.result.size());
}

FirstCall first_call_elsewhere(const std::string& name) {
  // The environment of this process is the new one's; nothing in it is quoted.
  const std::string command = "GNOMON_CACHE=off MESA_SHADER_CACHE_DISABLE=true exec /proc/" +
                              std::string("$PPID") + "/exe --first-call " + name;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (!pipe) throw std::runtime_error("bench: cannot start a process for " + name);
  double numbers[2];
  std::uint64_t size = 0;
  take(pipe.get(), numbers, 2, name);
  take(pipe.get(), &size, 1, name);
  FirstCall call{numbers[0], numbers[1], std::vector<float>(size)};
  take(pipe.get(), call.result.data(), call.result.size(), name);
  return call;
}

}  // namespace bench
