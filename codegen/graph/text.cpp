// codegen/graph/text.cpp -- the graph printer and parser.
#include "codegen/graph/text.h"

#include <map>

#include "codegen/graph/primitive.h"

namespace gnomon {
namespace {

// Where source lines start, as long as the equation leaves room.
constexpr std::size_t comment_column = 56;

std::string value_text(ValueId v) { return "%" + std::to_string(v); }

std::string typed_list(const Graph& graph, const std::vector<ValueId>& values) {
  std::string text;
  for (ValueId v : values) {
    if (!text.empty()) text += ", ";
    text += value_text(v) + ": " + to_string(graph.avals[v]);
  }
  return text;
}

/// Appends at the end of the current line; the closing brace is the last character.
void print_to(std::string& out, const Graph& graph, const GraphTextOptions& options) {
  const std::string margin(static_cast<std::size_t>(options.indent), ' ');
  out += "graph(" + typed_list(graph, graph.inputs) + ") {\n";
  for (const Equation& equation : graph.equations) {
    const std::size_t begin = out.size();
    out += margin + "  ";
    if (!equation.outputs.empty()) out += typed_list(graph, equation.outputs) + " = ";
    out += equation.primitive->name;
    if (!equation.params.empty()) {
      out += "[";
      ParamPrinter printer(out, options.indent + 2, options.source_lines);
      equation.params.print(printer);
      out += "]";
    }
    for (ValueId v : equation.inputs) out += " " + value_text(v);
    if (options.source_lines && equation.loc.line > 0) {
      const std::size_t newline = out.rfind('\n');
      const std::size_t width = out.size() - std::max(begin, newline == out.npos ? 0 : newline + 1);
      out.append(width < comment_column ? comment_column - width : 1, ' ');
      out += "; " + to_string(equation.loc);
    }
    out += "\n";
  }
  out += margin + "  return";
  for (ValueId v : graph.outputs) out += " " + value_text(v);
  out += "\n" + margin + "}";
}

class GraphParser {
 public:
  explicit GraphParser(TextReader& in) : in_(in) {}

  Graph parse() {
    in_.expect("graph");
    in_.expect("(");
    while (!in_.accept(")")) {
      if (!graph_.inputs.empty()) in_.expect(",");
      graph_.inputs.push_back(define());
    }
    visible_ = graph_.avals.size();
    in_.expect("{");
    while (!in_.accept("return")) equation();
    while (!in_.accept("}")) graph_.outputs.push_back(use());
    return std::move(graph_);
  }

 private:
  std::uint64_t number() {
    in_.expect("%");
    return in_.unsigned_integer("the number of a value");
  }

  /// `%3: f32[2]`.
  ValueId define() {
    const std::uint64_t written = number();
    if (values_.contains(written)) in_.fail("%" + std::to_string(written) + " is defined twice");
    in_.expect(":");
    const ValueId v = graph_.fresh(parse_aval(in_));
    values_[written] = v;
    return v;
  }

  ValueId use() {
    const std::uint64_t written = number();
    const auto found = values_.find(written);
    if (found == values_.end() || found->second >= visible_)
      in_.fail("%" + std::to_string(written) + " is not defined above");
    return found->second;
  }

  void equation() {
    Equation result;
    if (in_.at("%")) {
      do {
        result.outputs.push_back(define());
      } while (in_.accept(","));
      in_.expect("=");
    }
    const std::string_view name = in_.word("the name of an operation");
    result.primitive = find_primitive(name);
    if (!result.primitive) in_.fail("there is no operation `" + std::string(name) + "`");
    const bool fields = in_.accept("[");
    ParamParser params(in_, fields);
    result.params = result.primitive->parse(params);
    if (fields) in_.expect("]");
    std::vector<Aval> inputs;
    // The next equation starts with `%n:`; operands have no colon.
    while (in_.at("%") && !in_.at_definition()) {
      result.inputs.push_back(use());
      inputs.push_back(graph_.avals[result.inputs.back()]);
    }
    visible_ = graph_.avals.size();
    check_types(result, inputs);
    graph_.equations.push_back(std::move(result));
  }

  void check_types(const Equation& equation, const std::vector<Aval>& inputs) {
    std::vector<Aval> wanted;
    try {
      wanted = equation.primitive->shape(equation.params, inputs, Loc{});
    } catch (const ParseError&) {
      throw;
    } catch (const UsageError& error) {
      in_.fail(error.what());
    }
    if (wanted.size() != equation.outputs.size()) {
      in_.fail(std::string(equation.primitive->name) + " has " + std::to_string(wanted.size()) +
               " results, not " + std::to_string(equation.outputs.size()));
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const Aval& written = graph_.avals[equation.outputs[i]];
      if (written == wanted[i]) continue;
      in_.fail(std::string(equation.primitive->name) + " gives " + to_string(wanted[i]) + ", not " +
               to_string(written));
    }
  }

  TextReader& in_;
  Graph graph_;
  std::map<std::uint64_t, ValueId> values_;  // as numbered in the text
  std::size_t visible_ = 0;  // so many of the values: an equation does not see its own results
};

}  // namespace

std::string print(const Graph& graph, GraphTextOptions options) {
  std::string out(static_cast<std::size_t>(options.indent), ' ');
  print_to(out, graph, options);
  return out + "\n";
}

Graph parse_graph(std::string_view text) {
  TextReader in(text);
  Graph graph = GraphParser(in).parse();
  if (!in.at_end()) in.fail("expected the end after the graph");
  return graph;
}

void ParamPrinter::graph(const Graph& graph) {
  print_to(out_, graph, {.indent = indent_, .source_lines = source_lines_});
}

GraphPtr ParamParser::graph() { return std::make_shared<Graph>(GraphParser(in).parse()); }

}  // namespace gnomon
