// engine/runtime/statements.cpp -- records of a call's statements, from device to handler.
#include "engine/runtime/statements.h"

#include <algorithm>
#include <span>

#include "gnomon/debug.h"

namespace gnomon {

void speak(Context& context, const EffectTable& effects, const std::vector<Aval>& types,
           std::vector<Array>& outputs, const PrintHandler& sink) {
  std::vector<HostArray> records;
  const std::size_t own = outputs.size() - effects.arrays;
  for (const Statement& s : effects.statements) {
    const auto arrays = std::span(outputs).subspan(own + s.first, s.count);
    // Nothing was said where an array is missing.
    const bool whole =
        std::none_of(arrays.begin(), arrays.end(), [](const Array& a) { return a.empty(); });
    for (std::size_t i = 0; i < s.count; ++i) {
      records.emplace_back(types[s.first + i]);
      if (!whole) continue;
      download(context, arrays[i], "jit", records.back().bytes);
    }
  }
  outputs.resize(own);
  const Report report = effects.read(records);
  for (const std::string& line : report.lines) sink(line);
  if (report.failure) throw CheckFailed(*report.failure);
}

}  // namespace gnomon
