// codegen/graph/verify.cpp -- checks a graph equation by equation.
#include "codegen/graph/verify.h"

#include "codegen/graph/primitive.h"
#include "codegen/graph/text.h"

namespace gnomon {
namespace {

std::string list(const std::vector<Aval>& avals) {
  std::string text;
  for (const Aval& a : avals) text += (text.empty() ? "" : ", ") + to_string(a);
  return text.empty() ? "nothing" : text;
}

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph), defined_(graph.avals.size()) {}

  std::string run() {
    for (ValueId v : graph_.inputs) {
      if (std::string fault = define(v, "input"); !fault.empty()) return fault;
    }
    for (std::size_t i = 0; i < graph_.equations.size(); ++i) {
      if (std::string fault = equation(graph_.equations[i]); !fault.empty()) {
        return "equation " + std::to_string(i) + ": " + fault;
      }
    }
    for (ValueId v : graph_.outputs) {
      if (std::string fault = use(v, "output"); !fault.empty()) return fault;
    }
    return "";
  }

 private:
  std::string define(ValueId v, const std::string& where) {
    if (v >= defined_.size()) return where + " %" + std::to_string(v) + " does not exist";
    if (defined_[v]) return where + " %" + std::to_string(v) + " is defined a second time";
    defined_[v] = true;
    return "";
  }

  std::string use(ValueId v, const std::string& where) const {
    if (v >= defined_.size()) return where + " %" + std::to_string(v) + " does not exist";
    if (!defined_[v]) return where + " %" + std::to_string(v) + " is used before its definition";
    return "";
  }

  std::string equation(const Equation& equation) {
    if (!equation.primitive) return "no operation";
    const std::string name(equation.primitive->name);
    std::vector<Aval> inputs, outputs;
    for (ValueId v : equation.inputs) {
      if (std::string fault = use(v, name); !fault.empty()) return fault;
      inputs.push_back(graph_.avals[v]);
    }
    for (ValueId v : equation.outputs) {
      if (std::string fault = define(v, name); !fault.empty()) return fault;
      outputs.push_back(graph_.avals[v]);
    }
    for (const GraphPtr& graph : equation.params.graphs()) {
      if (!graph) return name + " lacks a sub-graph";
      if (std::string fault = find_fault(*graph); !fault.empty()) {
        return name + ", in a sub-graph: " + fault;
      }
    }
    try {
      const auto wanted = equation.primitive->shape(equation.params, inputs, equation.loc);
      if (wanted != outputs) return name + " gives " + list(wanted) + ", not " + list(outputs);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }

  const Graph& graph_;
  std::vector<bool> defined_;
};

}  // namespace

std::string find_fault(const Graph& graph) { return Verifier(graph).run(); }

void verify(const Graph& graph, const char* stage) {
  const std::string fault = find_fault(graph);
  if (fault.empty()) return;
  // Printing looks only at names and types, which a faulty graph may lack.
  bool printable = true;
  auto known = [&](ValueId v) { printable &= v < graph.avals.size(); };
  for (ValueId v : graph.inputs) known(v);
  for (ValueId v : graph.outputs) known(v);
  for (const Equation& equation : graph.equations) {
    printable &= equation.primitive != nullptr;
    for (ValueId v : equation.outputs) known(v);
  }
  throw InternalError("gnomon: internal error: invalid " + std::string(stage) + ": " + fault +
                      (printable ? "\n" + print(graph) : ""));
}

}  // namespace gnomon
