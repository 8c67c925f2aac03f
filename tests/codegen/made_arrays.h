// tests/codegen/made_arrays.h -- what functions without operands make, on the host reference.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "codegen/graph/evaluate.h"
#include "codegen/trace/trace.h"

namespace gnomon::made {

using Made = std::function<Array()>;
using Numbers = std::vector<double>;
using Integers = std::vector<std::int64_t>;

inline Graph graph_of(const Made& f) {
  Trace t;
  return t.finish({f()});
}
inline HostArray value(const Made& f) { return evaluate(graph_of(f), {})[0]; }

inline Numbers numbers(const HostArray& h) {
  Numbers r;
  for (Dim i = 0; i < h.size(); ++i) r.push_back(h.number(i));
  return r;
}
inline Numbers numbers(const Made& f) { return numbers(value(f)); }
inline Integers integers(const Made& f) {
  const HostArray h = value(f);
  Integers r;
  for (Dim i = 0; i < h.size(); ++i) r.push_back(h.integer(i));
  return r;
}

/// What `f` throws.
inline std::string message(const Made& f) {
  try {
    value(f);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace gnomon::made
