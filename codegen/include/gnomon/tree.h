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
#include <type_traits>
#include <utility>
#include <vector>

#include "gnomon/array.h"
#include "gnomon/detail/tree_walk.h"

#pragma GCC visibility push(default)
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

/// Its address is a type's identity within this process.
template <class T>
inline constexpr char type_identity = 0;

template <class T>
StaticValue static_value(const T& x) {
  StaticValue result{&x,
                     [](const void* value, std::string& bytes) {
                       append_value(bytes, *static_cast<const T*>(value));
                     },
                     [](const void* value) { return value_text(*static_cast<const T*>(value)); }};
  result.type = &type_identity<T>;
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
    result.integer = static_cast<std::int64_t>(x);
  return result;
}

/// Calls a function that outlives it.
template <class Signature>
class FunctionRef;
template <class R, class... A>
class FunctionRef<R(A...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_const_t<F>, FunctionRef>)
      FunctionRef(F& f)  // NOLINT: implicit on purpose
      : object_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* object, A... a) -> R {
          return (*static_cast<F*>(object))(std::forward<A>(a)...);
        }) {}
  R operator()(A... a) const { return call_(object_, std::forward<A>(a)...); }

 private:
  void* object_;
  R (*call_)(void*, A...);
};

using ArrayVisit = FunctionRef<void(const Array&)>;
using PathVisit = FunctionRef<void(const Array&, const std::string& path)>;
using ValueVisit = FunctionRef<void(const void* value, const std::string& path)>;
using StaticVisit = FunctionRef<void(const std::string& path, const std::string& text)>;
void visit_arrays(AnyTree, bool holes, ArrayVisit);
void visit_arrays(AnyTree, bool holes, std::string prefix, PathVisit);
void visit_statics(AnyTree, std::string prefix, StaticVisit);
void visit_values(AnyTree, const void* type, std::string prefix, ValueVisit);
void append_key(AnyTree, const void* type, std::string& bytes);
std::vector<Array> arrays(AnyTree, bool holes);
void append_arrays(AnyTree, std::vector<Array>&);  // leaves
std::size_t leaf_count(AnyTree);
std::vector<std::string> leaf_paths(AnyTree, std::string prefix);
/// Of a tree that is not const.
void replace(AnyTree, bool holes, std::span<const Array>);

template <class T, class F>
void for_each(T& tree, bool holes, F& visit, std::string prefix) {
  // What is const here is not where the tree itself is not.
  using Leaf = std::conditional_t<std::is_const_v<T>, const Array&, Array&>;
  if constexpr (std::is_invocable_v<F&, Leaf>) {
    const auto call = [&](const Array& a) { visit(const_cast<Leaf>(a)); };
    visit_arrays(AnyTree::of(tree), holes, call);
  } else {
    const auto call = [&](const Array& a, const std::string& path) {
      visit(const_cast<Leaf>(a), path);
    };
    visit_arrays(AnyTree::of(tree), holes, std::move(prefix), call);
  }
}

template <class T>
struct IsPair : std::false_type {};
template <class A, class B>
struct IsPair<std::pair<A, B>> : std::true_type {};

}  // namespace detail

/// Calls `visit(array)` or `visit(array, path)` for every leaf; arrays are const when the tree is.
template <class T, class F>
void for_each_leaf(T& tree, F&& visit, std::string prefix = "") {
  detail::for_each(tree, false, visit, std::move(prefix));
}

/// `for_each_leaf` that visits holes as well: trees of one structure line up whatever is left out.
template <class T, class F>
void for_each_slot(T& tree, F&& visit, std::string prefix = "") {
  detail::for_each(tree, true, visit, std::move(prefix));
}

/// Calls `visit(path, text)` for every static value, length and presence: what a retrace message
/// compares.
template <class T, class F>
void for_each_static(const T& tree, F&& visit, std::string prefix = "") {
  detail::visit_statics(detail::AnyTree::of(tree), std::move(prefix), visit);
}

/// Calls `visit(value, path)` for every static value of type V, to read or, when the tree is not
/// const, to change. Elements of a std::vector<bool> are copies.
template <class V, class T, class F>
void for_each_value(T& tree, F&& visit, std::string prefix = "") {
  using Value = std::conditional_t<std::is_const_v<T>, const V, V>;
  static_assert(kind_of<V>() == Kind::value, "gnomon: no static value of a tree has this type");
  const auto call = [&](const void* value, const std::string& path) {
    visit(*static_cast<Value*>(const_cast<void*>(value)), path);
  };
  detail::visit_values(detail::AnyTree::of(tree), &detail::type_identity<V>, std::move(prefix),
                       call);
}

/// Appends bytes that are equal exactly when type, structure and static values are. Valid within
/// one process.
template <class T>
void append_static_key(const T& tree, std::string& bytes) {
  detail::append_key(detail::AnyTree::of(tree), &detail::type_identity<T>, bytes);
}

/// The arrays of a tree.
template <class T>
std::vector<Array> leaves(const T& tree) {
  return detail::arrays(detail::AnyTree::of(tree), false);
}

/// Where they are, in the same order: `.layers[0].weight`.
template <class T>
std::vector<std::string> leaf_paths(const T& tree, std::string prefix = "") {
  return detail::leaf_paths(detail::AnyTree::of(tree), std::move(prefix));
}

template <class T>
std::size_t leaf_count(const T& tree) {
  return detail::leaf_count(detail::AnyTree::of(tree));
}

/// All Arrays of a tree, holes among them.
template <class T>
std::vector<Array> slots(const T& tree) {
  return detail::arrays(detail::AnyTree::of(tree), true);
}

/// `like` with all its Arrays replaced, holes too, in order. Unchecked beyond their number.
template <class T>
T with_slots(const T& like, std::span<const Array> arrays) {
  T result = clone(like);
  detail::replace(detail::AnyTree::of(result), true, arrays);
  return result;
}

/// `like` with its arrays replaced, in order; holes stay. Unchecked beyond their number: dtypes and
/// shapes may change.
template <class T>
T with_leaves(const T& like, std::span<const Array> arrays) {
  T result = clone(like);
  detail::replace(detail::AnyTree::of(result), false, arrays);
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
/// plus what a gradient says of those that have one. Throws UsageError for bools, and for types and
/// shapes that differ.
template <class T>
T add(const T& a, const T& b, Loc loc = Loc::here()) {
  return with_slots(a, detail::add(slots(a), slots(b), loc));
}

/// factor * tree, array by array; holes stay. Throws UsageError for bools.
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
#pragma GCC visibility pop
