// engine/runtime/memory_report.cpp -- the plan of a program, summed up.
#include "engine/runtime/memory_report.h"

#include <algorithm>

#include "engine/runtime/context.h"
#include "engine/vulkan/buffer_pool.h"

namespace gnomon {

MemoryReport memory_report(const Program& program) {
  MemoryReport r;
  for (const Aval& a : program.inputs) r.inputs += bytes_of(a);
  for (const Aval& a : program.outputs) r.outputs += bytes_of(a);
  r.constants = program.constants.size();
  r.arena = program.arena_bytes;
  for (const Allocation& a : program.allocations)
    r.values.push_back({a.name, a.where.line > 0 ? to_string(a.where) : "", a.offset, a.bytes,
                        a.first_step, a.last_step});
  std::stable_sort(
      r.values.begin(), r.values.end(),
      [](const MemoryReport::Value& a, const MemoryReport::Value& b) { return a.bytes > b.bytes; });
  return r;
}

std::string sums(const MemoryReport& r) {
  using vulkan::byte_text;
  return byte_text(r.peak()) + ": inputs " + byte_text(r.inputs) + ", outputs " +
         byte_text(r.outputs) + ", constants " + byte_text(r.constants) + ", intermediates " +
         byte_text(r.arena);
}

std::string line(const MemoryReport::Value& v) {
  return vulkan::byte_text(v.bytes) + " " + v.what + (v.where.empty() ? "" : " (" + v.where + ")");
}

std::string to_string(const MemoryReport& r, std::size_t most) {
  std::string s = sums(r) + "\n";
  for (std::size_t i = 0; i < std::min(most, r.values.size()); ++i)
    s += "  " + line(r.values[i]) + ", steps " + std::to_string(r.values[i].first_step) + " to " +
         std::to_string(r.values[i].last_step) + "\n";
  if (r.values.size() > most)
    s += "  and " + std::to_string(r.values.size() - most) + " smaller ones\n";
  return s;
}

}  // namespace gnomon
