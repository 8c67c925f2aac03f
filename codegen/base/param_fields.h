// codegen/base/param_fields.h -- equality, hash, text and sub-graphs of parameter structs, derived
// from their fields.
#pragma once
#include <bit>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "codegen/base/hash.h"
#include "codegen/base/text_reader.h"
#include "gnomon/detail/reflect.h"
#include "gnomon/shape.h"

namespace gnomon {

struct Graph;
using GraphPtr = std::shared_ptr<const Graph>;

/// Writes `name=value name=value`. Sub-graphs become blocks indented below the line that holds
/// them.
class ParamPrinter {
 public:
  ParamPrinter(std::string& out, int indent, bool source_lines)
      : out_(out), indent_(indent), source_lines_(source_lines) {}
  /// Starts a field.
  void field(std::string_view name);
  void text(std::string_view t) { out_ += t; }
  void integer(std::int64_t x) { out_ += std::to_string(x); }
  void unsigned_integer(std::uint64_t x) { out_ += std::to_string(x); }
  void graph(const Graph&);  // in graph/text.cpp

 private:
  std::string& out_;
  int indent_;
  bool source_lines_;
  bool first_ = true;
};

/// Reads what ParamPrinter writes. Fields may be left out (they keep their defaults) and come in
/// any order.
class ParamParser {
 public:
  /// `fields` says whether there is a bracket with fields at all.
  ParamParser(TextReader& text, bool fields) : in(text), fields_(fields) {}
  /// The name before the next `=`, or nothing when the fields end.
  std::optional<std::string_view> next_field();
  GraphPtr graph();  // in graph/text.cpp

  TextReader& in;

 private:
  bool fields_;
};

namespace param_fields {

bool same_graph(const GraphPtr&, const GraphPtr&);  // in graph/params.cpp, by structure
std::uint64_t graph_hash(const GraphPtr&);          // likewise
/// All enumerators whose name is known, for the message about a wrong one.
[[noreturn]] void fail_unknown(TextReader&, std::string_view what, std::string_view found,
                               const std::vector<std::string_view>& known);

/// A type that brings its own rules (Literal).
template <class T>
concept Described = requires(const T& value, Hasher& hasher, ParamPrinter& out, ParamParser& in) {
  { value == value } -> std::same_as<bool>;
  value.hash(hasher);
  value.print(out);
  { T::parse(in) } -> std::same_as<T>;
};

template <class T>
concept NamedEnum = std::is_enum_v<T> && requires(T value) {
  { name(value) } -> std::convertible_to<std::string_view>;
};

/// What can be done with one field of type T. A type without an entry is not a parameter type.
template <class T>
struct Field;

template <>
struct Field<bool> {
  static bool equal(bool a, bool b) { return a == b; }
  static void hash(Hasher& h, bool x) { h.add(x); }
  static void print(ParamPrinter& out, bool x) { out.text(x ? "true" : "false"); }
  static bool parse(ParamParser& p) {
    if (p.in.accept("true")) return true;
    p.in.expect("false");
    return false;
  }
};

template <std::integral T>
struct Field<T> {
  static bool equal(T a, T b) { return a == b; }
  static void hash(Hasher& h, T x) { h.add(static_cast<std::uint64_t>(x)); }
  static void print(ParamPrinter& out, T x) {
    if constexpr (std::is_signed_v<T>)
      out.integer(x);
    else
      out.unsigned_integer(x);
  }
  static T parse(ParamParser& p) {
    if constexpr (std::is_signed_v<T>)
      return static_cast<T>(
          p.in.integer(std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    else if constexpr (sizeof(T) < sizeof(std::uint64_t))
      return static_cast<T>(p.in.integer(0, std::numeric_limits<T>::max()));
    else
      return static_cast<T>(p.in.unsigned_integer());
  }
};

/// By bits: 0 and -0 differ, a NaN equals itself.
template <>
struct Field<double> {
  static bool equal(double a, double b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  }
  static void hash(Hasher& h, double x) { h.add(std::bit_cast<std::uint64_t>(x)); }
  static void print(ParamPrinter& out, double x) { out.text(number_text(x)); }
  static double parse(ParamParser& p) { return p.in.number(); }
};

template <NamedEnum T>
struct Field<T> {
  static bool equal(T a, T b) { return a == b; }
  static void hash(Hasher& h, T x) { h.add(static_cast<std::uint64_t>(x)); }
  static void print(ParamPrinter& out, T x) { out.text(name(x)); }
  static T parse(ParamParser& p) {
    const std::string_view word = p.in.word("a name");
    // Enumerators count from 0; a value that is none has the name "?" or an empty one.
    std::vector<std::string_view> known;
    for (int i = 0; i < 256; ++i) {
      const std::string_view candidate = name(static_cast<T>(i));
      if (candidate.empty() || candidate == "?") break;
      if (candidate == word) return static_cast<T>(i);
      known.push_back(candidate);
    }
    fail_unknown(p.in, "name", word, known);
  }
};

template <>
struct Field<std::string> {
  static bool equal(const std::string& a, const std::string& b) { return a == b; }
  static void hash(Hasher& h, const std::string& x) { h.add(x); }
  static void print(ParamPrinter& out, const std::string& x) { out.text(quoted_text(x)); }
  static std::string parse(ParamParser& p) { return p.in.quoted(); }
};

template <>
struct Field<Shape> {
  static bool equal(const Shape& a, const Shape& b) { return a == b; }
  static void hash(Hasher& h, const Shape& x) {
    h.add(static_cast<std::uint64_t>(x.rank()));
    for (Dim d : x) h.add(static_cast<std::uint64_t>(d));
  }
  static void print(ParamPrinter& out, const Shape& x) { out.text(to_string(x)); }
  static Shape parse(ParamParser& p);
};

template <>
struct Field<GraphPtr> {
  static bool equal(const GraphPtr& a, const GraphPtr& b) { return same_graph(a, b); }
  static void hash(Hasher& h, const GraphPtr& x) { h.add(graph_hash(x)); }
  static void print(ParamPrinter& out, const GraphPtr& x) {
    if (x)
      out.graph(*x);
    else
      out.text("none");
  }
  static GraphPtr parse(ParamParser& p) { return p.in.accept("none") ? nullptr : p.graph(); }
};

template <class T>
struct Field<std::optional<T>> {
  static bool equal(const std::optional<T>& a, const std::optional<T>& b) {
    return a.has_value() == b.has_value() && (!a || Field<T>::equal(*a, *b));
  }
  static void hash(Hasher& h, const std::optional<T>& x) {
    h.add(x.has_value());
    if (x) Field<T>::hash(h, *x);
  }
  static void print(ParamPrinter& out, const std::optional<T>& x) {
    if (x)
      Field<T>::print(out, *x);
    else
      out.text("none");
  }
  static std::optional<T> parse(ParamParser& p) {
    if (p.in.accept("none")) return std::nullopt;
    return Field<T>::parse(p);
  }
};

template <class T>
struct Field<std::vector<T>> {
  static bool equal(const std::vector<T>& a, const std::vector<T>& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!Field<T>::equal(a[i], b[i])) return false;
    }
    return true;
  }
  static void hash(Hasher& h, const std::vector<T>& x) {
    h.add(x.size());
    for (const auto& element : x) Field<T>::hash(h, element);
  }
  static void print(ParamPrinter& out, const std::vector<T>& x) {
    out.text("(");
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (i) out.text(",");
      Field<T>::print(out, x[i]);
    }
    out.text(")");
  }
  static std::vector<T> parse(ParamParser& p) {
    std::vector<T> result;
    p.in.expect("(");
    while (!p.in.accept(")")) {
      if (!result.empty()) p.in.expect(",");
      result.push_back(Field<T>::parse(p));
    }
    return result;
  }
};

template <Described T>
struct Field<T> {
  static bool equal(const T& a, const T& b) { return a == b; }
  static void hash(Hasher& h, const T& x) { x.hash(h); }
  static void print(ParamPrinter& out, const T& x) { x.print(out); }
  static T parse(ParamParser& p) { return T::parse(p); }
};

template <class T>
bool equal(const T& a, const T& b) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto x = reflect::fields(a), y = reflect::fields(b);
    return (Field<reflect::FieldType<T, I>>::equal(std::get<I>(x), std::get<I>(y)) && ...);
  }
  (std::make_index_sequence<reflect::field_count<T>()>{});
}

/// Calls `f(field)` for each: without names, finding which takes longer than most of what is done
/// with a field.
template <class T, class F>
void for_each(T& value, F f) {
  std::apply([&](auto&... field) { (f(field), ...); }, reflect::fields(value));
}

template <class T>
std::uint64_t hash(const T& value) {
  Hasher hasher;
  for_each(value, [&]<class F>(const F& field) { Field<F>::hash(hasher, field); });
  return hasher.value();
}

template <class T>
void print(const T& value, ParamPrinter& out) {
  reflect::for_each_field(value, [&]<class F>(std::string_view name, const F& field) {
    out.field(name);
    Field<F>::print(out, field);
  });
}

template <class T>
void parse(T& value, ParamParser& parser) {
  while (const auto found = parser.next_field()) {
    bool known = false;
    reflect::for_each_field(value, [&]<class F>(std::string_view name, F& field) {
      if (known || name != *found) return;
      known = true;
      field = Field<F>::parse(parser);
    });
    if (known) continue;
    std::vector<std::string_view> names;
    reflect::for_each_field(value, [&](std::string_view name, auto&) { names.push_back(name); });
    fail_unknown(parser.in, "parameter", *found, names);
  }
}

template <class T>
void graphs(const T& value, std::vector<GraphPtr>& out) {
  for_each(value, [&]<class F>(const F& field) {
    if constexpr (std::is_same_v<F, GraphPtr>) {
      out.push_back(field);
    } else if constexpr (std::is_same_v<F, std::vector<GraphPtr>>) {
      out.insert(out.end(), field.begin(), field.end());
    }
  });
}

/// Overwrites the sub-graphs, in the order of `graphs`.
template <class T>
void replace_graphs(T& value, const std::vector<GraphPtr>& with) {
  std::size_t next = 0;
  for_each(value, [&]<class F>(F& field) {
    if constexpr (std::is_same_v<F, GraphPtr>) {
      field = with.at(next++);
    } else if constexpr (std::is_same_v<F, std::vector<GraphPtr>>) {
      for (GraphPtr& g : field) g = with.at(next++);
    }
  });
}

}  // namespace param_fields
}  // namespace gnomon
