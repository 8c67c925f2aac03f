// tests/vulkan/memory_child.cpp -- what the other process does, and how it is started.
#include "tests/vulkan/memory_child.h"

#include <fcntl.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "gnomon/error.h"
#include "gnomon/jit.h"
#include "gnomon/ops.h"

namespace gnomon::testing {
namespace {

constexpr char flag[] = "--child-with-memory";

}  // namespace

bool is_memory_child(int argc, char** argv) { return argc == 7 && std::strcmp(argv[1], flag) == 0; }

int memory_child(char** argv) {
  try {
    MemoryHandle handle;
    handle.fd = std::atoi(argv[2]);
    handle.bytes = std::strtoull(argv[3], nullptr, 10);
    handle.memory_type = static_cast<std::uint32_t>(std::strtoul(argv[4], nullptr, 10));
    handle.dedicated = std::atoi(argv[5]) != 0;
    for (std::size_t i = 0; i < handle.device.size(); ++i)
      handle.device[i] =
          static_cast<std::uint8_t>(std::stoi(std::string(argv[6] + 2 * i, 2), nullptr, 16));
    Runtime rt;
    const SharedMemory memory(rt, handle);
    memory.acquire();
    const Array x = memory.array(0, {DType::f32, Shape(shared_floats)});
    const Array y = jit(rt, [](const Array& v) { return 2.0f * v + 1.0f; })(x);
    memory.put(answer_at, y);
    memory.release();
    rt.wait();
    return 0;
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
}

int run_memory_child(const MemoryHandle& handle) {
  ::fcntl(handle.fd, F_SETFD, 0);  // others inherit it
  std::string device;
  for (const std::uint8_t byte : handle.device) {
    char text[3];
    std::snprintf(text, sizeof text, "%02x", byte);
    device += text;
  }
  const std::string own = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = "'" + own + "' " + flag + " " + std::to_string(handle.fd) + " " +
                              std::to_string(handle.bytes) + " " +
                              std::to_string(handle.memory_type) + " " +
                              std::to_string(handle.dedicated) + " " + device;
  return std::system(command.c_str());
}

}  // namespace gnomon::testing
