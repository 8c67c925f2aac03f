// codegen/include/gnomon/tree.h -- structs as trees: Arrays are leaves, everything else is static.
//
// A tree is an Array, a struct (an aggregate, or a class with `static auto fields(T&)`),
// std::vector, std::array, std::tuple, std::pair or std::optional of trees. Numbers, enums,
// strings, shapes, functions and empty classes are static: part of what a compiled function is
// specialised on. Leaves are counted in order of declaration. An Array may be a *hole*
// (Array::hole, gnomon/partition.h): no leaf, and which Arrays are holes is static.
#pragma once
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/base/tree_walk.h"
#include "gnomon/array.h"

namespace gnomon {

/// No value, where a tree is asked for: `scan` without sequences or without rows, an argument that
/// does not move, arrays that no axis is mapped of.
struct None {};
inline constexpr None none{};

}  // namespace gnomon

namespace gnomon::tree {

namespace detail {

void append_count(std::string& bytes, std::size_t n);
void append_text(std::string& bytes, std::string_view text);
std::string text_of(double);
std::string text_of(float);
void check_same_count(std::size_t first, std::size_t other);
void check_leaf_count(std::size_t needed, std::size_t given);

template <class T>
void append_bytes(std::string& bytes, const T& x) {
  char raw[sizeof(T)];
  std::memcpy(raw, &x, sizeof(T));
  bytes.append(raw, sizeof(T));
}

template <class T>
void append_value(std::string& bytes, const T& x) {
  if constexpr (std::is_same_v<T, std::string>) {
    append_text(bytes, x);
  } else if constexpr (std::is_same_v<T, Shape>) {
    append_count(bytes, static_cast<std::size_t>(x.rank()));
    for (Dim d : x) append_bytes(bytes, d);
  } else {
    append_bytes(bytes, x);  // floats by bits
  }
}

template <class T>
std::string value_text(const T& x) {
  if constexpr (std::is_same_v<T, std::string>)
    return "\"" + x + "\"";
  else if constexpr (std::is_same_v<T, Shape>)
    return to_string(x);
  else if constexpr (std::is_same_v<T, bool>)
    return x ? "true" : "false";
  else if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
    return text_of(x);
  else if constexpr (std::is_integral_v<T>)
    return std::to_string(x);
  else if constexpr (requires { std::string_view(name(x)); })
    return std::string(name(x));
  else if constexpr (std::is_enum_v<T>)
    return std::to_string(static_cast<long long>(x));
  else
    return "a function";
}

template <class F>
struct LeafVisitor {
  F& f;
  template <class A, class P>
  void leaf(A& a, P& path) {
    if (a.is_hole()) return;
    if constexpr (std::is_same_v<P, NoPath>)
      f(a);
    else
      f(a, path.text());
  }
  template <class T, class P>
  void value(const T&, P&) {}
  template <class P>
  void count(std::size_t, P&) {}
  template <class P>
  void presence(bool, P&) {}
};

struct KeyVisitor {
  std::string& bytes;
  void leaf(const Array& a, NoPath&) { bytes.push_back(a.is_hole() ? '\1' : '\0'); }
  template <class T>
  void value(const T& x, NoPath&) {
    append_value(bytes, x);
  }
  void count(std::size_t n, NoPath&) { append_count(bytes, n); }
  void presence(bool present, NoPath&) { append_bytes(bytes, present); }
};

template <class F>
struct StaticVisitor {
  F& f;
  void leaf(const Array& a, Path& path) {
    if (a.is_hole()) f(path.text(), std::string("a hole"));
  }
  template <class T>
  void value(const T& x, Path& path) {
    f(path.text(), value_text(x));
  }
  void count(std::size_t n, Path& path) {
    f(path.text(), std::to_string(n) + (n == 1 ? " element" : " elements"));
  }
  /// What is present speaks for itself, under the same path.
  void presence(bool present, Path& path) {
    if (!present) f(path.text(), std::string("absent"));
  }
};

/// Every Array, holes too.
template <class F>
struct SlotVisitor {
  F& f;
  template <class A, class P>
  void leaf(A& a, P& path) {
    if constexpr (std::is_same_v<P, NoPath>)
      f(a);
    else
      f(a, path.text());
  }
  template <class T, class P>
  void value(const T&, P&) {}
  template <class P>
  void count(std::size_t, P&) {}
  template <class P>
  void presence(bool, P&) {}
};

template <class T>
struct IsPair : std::false_type {};
template <class A, class B>
struct IsPair<std::pair<A, B>> : std::true_type {};

/// Its address is a type's identity within this process.
template <class T>
inline constexpr char type_identity = 0;

}  // namespace detail

/// Calls `visit(array)` or `visit(array, path)` for every leaf; arrays are const when the tree is.
template <class T, class F>
void for_each_leaf(T& tree, F&& visit, std::string prefix = "") {
  detail::LeafVisitor<F> visitor{visit};
  using Leaf = std::conditional_t<std::is_const_v<T>, const Array&, Array&>;
  if constexpr (std::is_invocable_v<F&, Leaf>) {
    NoPath path;
    walk(tree, path, visitor);
  } else {
    Path path(std::move(prefix));
    walk(tree, path, visitor);
  }
}

/// `for_each_leaf` that visits holes as well: trees of one structure line up whatever is left out.
template <class T, class F>
void for_each_slot(T& tree, F&& visit, std::string prefix = "") {
  detail::SlotVisitor<F> visitor{visit};
  using Slot = std::conditional_t<std::is_const_v<T>, const Array&, Array&>;
  if constexpr (std::is_invocable_v<F&, Slot>) {
    NoPath path;
    walk(tree, path, visitor);
  } else {
    Path path(std::move(prefix));
    walk(tree, path, visitor);
  }
}

/// Calls `visit(path, text)` for every static value, length and presence: what a retrace message
/// compares.
template <class T, class F>
void for_each_static(const T& tree, F&& visit, std::string prefix = "") {
  detail::StaticVisitor<F> visitor{visit};
  Path path(std::move(prefix));
  walk(tree, path, visitor);
}

/// Appends bytes that are equal exactly when type, structure and static values are. Valid within
/// one process.
template <class T>
void append_static_key(const T& tree, std::string& bytes) {
  detail::append_bytes(bytes, static_cast<const void*>(&detail::type_identity<T>));
  detail::KeyVisitor visitor{bytes};
  NoPath path;
  walk(tree, path, visitor);
}

/// The arrays of a tree.
template <class T>
std::vector<Array> leaves(const T& tree) {
  std::vector<Array> result;
  for_each_leaf(tree, [&](const Array& a) { result.push_back(a); });
  return result;
}

/// All Arrays of a tree, holes among them.
template <class T>
std::vector<Array> slots(const T& tree) {
  std::vector<Array> result;
  for_each_slot(tree, [&](const Array& a) { result.push_back(a); });
  return result;
}

/// `like` with all its Arrays replaced, holes too, in order. Unchecked beyond their number.
template <class T>
T with_slots(const T& like, std::span<const Array> arrays) {
  T result = clone(like);
  std::size_t i = 0;
  for_each_slot(result, [&](Array& a) {
    detail::check_leaf_count(i + 1, arrays.size());
    a = arrays[i++];
  });
  return result;
}

/// `like` with its arrays replaced, in order; holes stay. Unchecked beyond their number: dtypes and
/// shapes may change.
template <class T>
T with_leaves(const T& like, std::span<const Array> arrays) {
  T result = clone(like);
  std::size_t i = 0;
  for_each_leaf(result, [&](Array& a) {
    detail::check_leaf_count(i + 1, arrays.size());
    a = arrays[i++];
  });
  return result;
}

/// `f` of every array of `tree` together with its partners in `more`, which must have as many
/// Arrays. Holes of `tree` stay holes.
template <class F, class T, class... More>
T map(F&& f, const T& tree, const More&... more) {
  const std::vector<Array> first = slots(tree);
  std::vector<Array> result;
  result.reserve(first.size());
  auto apply = [&](const auto&... others) {
    (detail::check_same_count(first.size(), others.size()), ...);
    for (std::size_t i = 0; i < first.size(); ++i)
      result.push_back(first[i].is_hole() ? first[i] : f(first[i], others[i]...));
  };
  apply(slots(more)...);
  return with_slots(tree, result);
}

/// What stands for one element along an axis of a tree's arrays: a tree of the same type, or what a
/// class gives as `as_element()` (Keys: a Key), in pairs and tuples as well.
template <class T>
auto as_element(const T& t) {
  if constexpr (requires { t.as_element(); }) {
    return t.as_element();
  } else if constexpr (detail::IsPair<T>::value) {
    return std::pair<decltype(as_element(t.first)), decltype(as_element(t.second))>{
        as_element(t.first), as_element(t.second)};
  } else if constexpr (kind_of<T>() == Kind::tuple) {
    return std::apply(
        [](const auto&... e) { return std::tuple<decltype(as_element(e))...>{as_element(e)...}; },
        t);
  } else {
    return clone(t);
  }
}
/// The other way: what stands for many along a new axis, `as_stacked()` of a class (Key: Keys).
template <class T>
auto as_stacked(const T& t) {
  if constexpr (requires { t.as_stacked(); }) {
    return t.as_stacked();
  } else if constexpr (detail::IsPair<T>::value) {
    return std::pair<decltype(as_stacked(t.first)), decltype(as_stacked(t.second))>{
        as_stacked(t.first), as_stacked(t.second)};
  } else if constexpr (kind_of<T>() == Kind::tuple) {
    return std::apply(
        [](const auto&... e) { return std::tuple<decltype(as_stacked(e))...>{as_stacked(e)...}; },
        t);
  } else {
    return clone(t);
  }
}
template <class T>
using ElementOf = decltype(as_element(std::declval<const T&>()));

namespace detail {
std::vector<Array> add(const std::vector<Array>&, const std::vector<Array>&, Loc);
std::vector<Array> scale(const Operand&, const std::vector<Array>&, Loc);
std::vector<Array> zeros_like(const std::vector<Array>&, Loc);
}  // namespace detail

/// a + b, array by array. Where one of them has a hole the other's array stays as it is: parameters
/// plus what a gradient says of those that have one.
template <class T>
T add(const T& a, const T& b, Loc loc = Loc::here()) {
  return with_slots(a, detail::add(slots(a), slots(b), loc));
}

/// factor * tree, array by array; holes stay.
template <class T>
T scale(const Operand& factor, const T& tree, Loc loc = Loc::here()) {
  return with_leaves(tree, detail::scale(factor, leaves(tree), loc));
}

/// Zeros of the same types.
template <class T>
T zeros_like(const T& tree, Loc loc = Loc::here()) {
  return with_leaves(tree, detail::zeros_like(leaves(tree), loc));
}

}  // namespace gnomon::tree
