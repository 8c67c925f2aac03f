// engine/jit/header_text.cpp -- aot::header_text: what saved functions take and give as C++
// structs.
#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <utility>

#include "gnomon/aot.h"
#include "gnomon/error.h"

namespace gnomon::aot {
namespace {

struct Member;

/// A place in an argument: an array, or members by name or number.
struct Node {
  std::optional<Aval> leaf;
  bool numbered = false;
  std::vector<Member> members;

  // Of one C++ type: equal members with arrays of any types.
  bool same_type(const Node& o) const;
};

struct Member {
  std::string first;
  Node second;
};

bool Node::same_type(const Node& o) const {
  return leaf.has_value() == o.leaf.has_value() && numbered == o.numbered &&
         std::equal(members.begin(), members.end(), o.members.begin(), o.members.end(),
                    [](const auto& a, const auto& b) {
                      return a.first == b.first && a.second.same_type(b.second);
                    });
}

// `path` is `.layers[0].weight`.
void insert(Node& root, std::string_view path, const Aval& aval) {
  Node* at = &root;
  while (!path.empty()) {
    const bool number = path[0] == '[';
    const std::size_t end = number ? path.find(']') : path.find_first_of(".[", 1);
    const std::string name(path.substr(1, end - 1));
    path = end == path.npos ? std::string_view() : path.substr(number ? end + 1 : end);
    at->numbered = number;
    auto member = std::ranges::find(at->members, name, &Member::first);
    if (member == at->members.end()) member = at->members.insert(member, {name, Node()});
    at = &member->second;
  }
  at->leaf = aval;
}

// "argument 12 `.x`" in front of the quoted path.
std::pair<std::string, std::string> place_and_path(const std::string& text) {
  const std::size_t quote = text.find(" `");
  if (quote == text.npos) return {text, ""};
  return {text.substr(0, quote), text.substr(quote + 2, text.size() - quote - 3)};
}

constexpr std::string_view keywords[] = {"alignas",       "alignof",     "and",
                                         "and_eq",        "asm",         "auto",
                                         "bitand",        "bitor",       "bool",
                                         "break",         "case",        "catch",
                                         "char",          "char16_t",    "char32_t",
                                         "char8_t",       "class",       "co_await",
                                         "co_return",     "co_yield",    "compl",
                                         "concept",       "const",       "const_cast",
                                         "consteval",     "constexpr",   "constinit",
                                         "continue",      "decltype",    "default",
                                         "delete",        "do",          "double",
                                         "dynamic_cast",  "else",        "enum",
                                         "explicit",      "export",      "extern",
                                         "false",         "float",       "for",
                                         "friend",        "goto",        "if",
                                         "inline",        "int",         "long",
                                         "mutable",       "namespace",   "new",
                                         "noexcept",      "not",         "not_eq",
                                         "nullptr",       "operator",    "or",
                                         "or_eq",         "private",     "protected",
                                         "public",        "register",    "reinterpret_cast",
                                         "requires",      "return",      "short",
                                         "signed",        "sizeof",      "static",
                                         "static_assert", "static_cast", "struct",
                                         "switch",        "template",    "this",
                                         "thread_local",  "throw",       "true",
                                         "try",           "typedef",     "typeid",
                                         "typename",      "union",       "unsigned",
                                         "using",         "virtual",     "void",
                                         "volatile",      "wchar_t",     "while",
                                         "xor",           "xor_eq"};
static_assert(std::ranges::is_sorted(keywords));

std::string identifier(std::string_view text) {
  std::string name;
  for (const char c : text)
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ? c : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) name = "f" + name;
  // Names with two underscores, and those that begin with one, may be the compiler's.
  for (std::size_t at; (at = name.find("__")) != name.npos;) name.erase(at, 1);
  while (name.size() > 1 && name[0] == '_') name.erase(0, 1);
  return std::ranges::binary_search(keywords, std::string_view(name)) ? name + "_" : name;
}

std::string type_name(std::string_view member) {
  std::string name = identifier(member);
  name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  return name + "_t";
}

std::string literal_of(std::string_view text) {
  std::string r = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') r += '\\';
    r += c;
  }
  return r + "\"";
}

/// Structs of one function and what walks over them.
class Writer {
 public:
  std::string text;

  /// Declares what `node` needs and gives its type.
  std::string declare(const Node& node, const std::string& name, const std::string& indent) {
    if (node.leaf) return "gnomon::Array";
    const auto& first = node.members.front().second;
    const bool alike = node.numbered && std::ranges::all_of(node.members, [&](const auto& m) {
                         return m.second.same_type(first);
                       });
    if (alike)
      return "std::array<" + declare(first, name, indent) + ", " +
             std::to_string(node.members.size()) + ">";
    text += indent + "struct " + name + " {\n";
    std::string members;
    for (const auto& [member, inner] : node.members) {
      const std::string field = member_name(node, member);
      members +=
          indent + "  " + declare(inner, type_name(field), indent + "  ") + " " + field + ";";
      if (inner.leaf) members += "  // " + to_string(*inner.leaf);
      members += "\n";
    }
    text += members + indent + "};\n";
    return name;
  }

  static std::string member_name(const Node& node, const std::string& member) {
    return node.numbered ? "item" + member : identifier(member);
  }

  /// Expressions of the arrays in `node`, in order.
  static void arrays(const Node& node, const std::string& expression,
                     std::vector<std::string>& out) {
    if (node.leaf) {
      out.push_back(expression);
      return;
    }
    const bool alike = node.numbered && std::ranges::all_of(node.members, [&](const auto& m) {
                         return m.second.same_type(node.members.front().second);
                       });
    for (const auto& [member, inner] : node.members)
      arrays(inner,
             alike ? expression + "[" + member + "]" : expression + "." + member_name(node, member),
             out);
  }
};

std::vector<std::pair<std::string, Node>> trees(const std::vector<Leaf>& leaves) {
  std::vector<std::pair<std::string, Node>> all;
  for (const Leaf& l : leaves) {
    const auto [place, path] = place_and_path(l.path);
    if (all.empty() || all.back().first != place) all.emplace_back(place, Node());
    insert(all.back().second, path, l.aval);
  }
  return all;
}

std::string leaf_list(const std::vector<Leaf>& leaves) {
  std::string text;
  for (const Leaf& l : leaves)
    text += "\n                   " + literal_of(l.path + " " + to_string(l.aval)) + ",";
  if (!text.empty()) text.pop_back();
  return "{" + text + "}";
}

std::string function_text(const Entry& e) {
  const Lowered& f = e.function;
  const auto arguments = trees(f.arguments()), results = trees(f.results());
  Writer w;
  w.text = "/// `" + e.name + "`.\nclass " + identifier(e.name) + " {\n public:\n";
  std::string parameters;
  std::vector<std::string> taken, given;
  for (const auto& [place, node] : arguments) {
    const std::string number = place.substr(place.rfind(' ') + 1);
    const std::string type = w.declare(node, "Argument" + number, "  ");
    parameters += (parameters.empty() ? "" : ", ") + type + " a" + number;
    Writer::arrays(node, "a" + number, taken);
  }
  std::string result = "void";
  if (!results.empty()) {
    result = w.declare(results[0].second, "Result", "  ");
    Writer::arrays(results[0].second, "r", given);
  }
  if (!w.text.ends_with("public:\n")) w.text += "\n";
  w.text += "  explicit " + identifier(e.name) +
            "(gnomon::aot::Programs programs) : programs_(std::move(programs)) {\n"
            "    gnomon::aot::detail::expect(\n        programs_.entry(entry), " +
            leaf_list(f.arguments()) + ",\n        " + leaf_list(f.results()) + ");\n  }\n";
  w.text += "\n  /// Starts it; what is moved in is donated.\n  " + result + " operator()(" +
            parameters + ") const {\n    std::vector<gnomon::Array> arrays;\n";
  for (const std::string& a : taken) w.text += "    arrays.push_back(std::move(" + a + "));\n";
  w.text += "    const std::vector<std::uint8_t> donated(arrays.size(), 1);\n    ";
  if (!given.empty()) w.text += "auto results = ";
  w.text += "gnomon::aot::detail::call(programs_.entry(entry), std::move(arrays), donated);\n";
  if (!given.empty()) {
    w.text += "    " + result + " r;\n";
    for (std::size_t i = 0; i < given.size(); ++i)
      w.text += "    " + given[i] + " = std::move(results[" + std::to_string(i) + "]);\n";
    w.text += "    return r;\n";
  }
  return w.text + "  }\n\n private:\n  static constexpr const char* entry = " + literal_of(e.name) +
         ";\n  gnomon::aot::Programs programs_;\n};\n";
}

}  // namespace

std::string header_text(const std::vector<Entry>& entries, std::string_view name) {
  const std::string space = identifier(name);
  std::string text =
      "// Written by gnomon from what `" + space +
      "` holds: its functions with their types.\n#pragma once\n#include <array>\n#include "
      "<cstdint>\n#include <string>\n#include <utility>\n#include <vector>\n\n#include "
      "<gnomon/aot.h>\n\nnamespace " +
      space + " {\n";
  std::set<std::string> names;
  std::string members, made;
  for (const Entry& e : entries) {
    const std::string id = identifier(e.name);
    if (!names.insert(id).second)
      throw UsageError("gnomon::aot::header_text: two entries are called `" + id +
                       "` in C++; give them names that differ in letters and digits");
    text += "\n" + function_text(e);
    members += "  ::" + space + "::" + id + " " + id + ";\n";
    made += (made.empty() ? "::" : ", ::") + space + "::" + id + "(programs)";
  }
  text += "\n/// All functions of the file.\nstruct Functions {\n" + members + "};\n";
  text +=
      "\n/// Throws as gnomon::aot::load does, and UsageError where the file is not what this "
      "header "
      "was\n/// written for.\ninline Functions load(gnomon::Runtime& rt, const std::string& path,\n"
      "                      const gnomon::aot::LoadOptions& options = {}) {\n"
      "  const gnomon::aot::Programs programs = gnomon::aot::load(rt, path, options);\n"
      "  return {" +
      made + "};\n}\n\n}  // namespace " + space + "\n";
  return text;
}

}  // namespace gnomon::aot
