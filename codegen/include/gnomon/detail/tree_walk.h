// codegen/include/gnomon/detail/tree_walk.h -- which types are trees, and the one walk over them
// that everything else is made of.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "gnomon/array.h"
#include "gnomon/detail/reflect.h"

#pragma GCC visibility push(default)
namespace gnomon::tree {

/// How a type takes part in a tree.
enum class Kind : std::uint8_t {
  leaf,      // Array
  sequence,  // std::vector, std::array: elements, by index or name_in_tree(); the length is static
  tuple,     // std::tuple, std::pair
  optional,  // whether it holds a value is static
  fields,    // aggregates and classes that list their fields
  value,     // static: numbers, enums, strings, shapes, functions
  empty,     // static and always equal: classes without members
  pointer,
  c_array,
  unsupported,  // do not compile
};

namespace detail {

template <class T>
struct IsVector : std::false_type {};
template <class T, class A>
struct IsVector<std::vector<T, A>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsTuple : std::false_type {};
template <class... T>
struct IsTuple<std::tuple<T...>> : std::true_type {};
template <class A, class B>
struct IsTuple<std::pair<A, B>> : std::true_type {};

template <class T>
constexpr bool is_function_pointer() {
  return std::is_pointer_v<T> && std::is_function_v<std::remove_pointer_t<T>>;
}

}  // namespace detail

template <class T>
constexpr Kind kind_of() {
  if constexpr (std::is_same_v<T, Array>)
    return Kind::leaf;
  else if constexpr (std::is_array_v<T>)
    return Kind::c_array;
  else if constexpr (std::is_pointer_v<T> && !detail::is_function_pointer<T>())
    return Kind::pointer;
  else if constexpr (detail::IsVector<T>::value || reflect::IsStdArray<T>::value)
    return Kind::sequence;
  else if constexpr (detail::IsTuple<T>::value)
    return Kind::tuple;
  else if constexpr (detail::IsOptional<T>::value)
    return Kind::optional;
  else if constexpr (std::is_same_v<T, long double>)
    return Kind::unsupported;  // its bytes hold padding
  else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> ||
                     detail::is_function_pointer<T>() || std::is_same_v<T, std::string> ||
                     std::is_same_v<T, Shape>)
    return Kind::value;
  else if constexpr (std::is_empty_v<T>)
    return Kind::empty;
  else if constexpr (reflect::Reflected<T>)
    return Kind::fields;
  else
    return Kind::unsupported;
}

namespace detail {

template <class T, class... Above>
constexpr bool is_tree();

template <class T, class... Above, std::size_t... I>
constexpr bool fields_are_trees(std::index_sequence<I...>) {
  return (is_tree<reflect::FieldType<T, I>, Above...>() && ...);
}
template <class T, class... Above, std::size_t... I>
constexpr bool elements_are_trees(std::index_sequence<I...>) {
  return (is_tree<std::tuple_element_t<I, T>, Above...>() && ...);
}

// `Above` are the types being looked at: a struct may hold a vector of itself.
template <class T, class... Above>
constexpr bool is_tree() {
  constexpr Kind kind = kind_of<T>();
  if constexpr ((std::is_same_v<T, Above> || ...))
    return true;
  else if constexpr (kind == Kind::sequence || kind == Kind::optional) {
    return is_tree<typename T::value_type, T, Above...>();
  } else if constexpr (kind == Kind::tuple) {
    return elements_are_trees<T, T, Above...>(std::make_index_sequence<std::tuple_size_v<T>>{});
  } else if constexpr (kind == Kind::fields) {
    return fields_are_trees<T, T, Above...>(std::make_index_sequence<reflect::field_count<T>()>{});
  } else {
    return kind < Kind::pointer;
  }
}

template <class T, class... Above>
constexpr bool differentiable();

template <class T, class... Above, std::size_t... I>
constexpr bool fields_differentiable(std::index_sequence<I...>) {
  return (differentiable<reflect::FieldType<T, I>, Above...>() && ...);
}
template <class T, class... Above, std::size_t... I>
constexpr bool elements_differentiable(std::index_sequence<I...>) {
  return (differentiable<std::remove_cvref_t<std::tuple_element_t<I, T>>, Above...>() && ...);
}

/// Whether nothing in T says `static constexpr bool differentiable = false;`, as classes do whose
/// numbers no gradient shall reach.
template <class T, class... Above>
constexpr bool differentiable() {
  constexpr Kind kind = kind_of<T>();
  if constexpr ((std::is_same_v<T, Above> || ...)) {
    return true;
  } else if constexpr (requires { T::differentiable; }) {
    return T::differentiable;
  } else if constexpr (kind == Kind::sequence || kind == Kind::optional) {
    return differentiable<typename T::value_type, T, Above...>();
  } else if constexpr (kind == Kind::tuple) {
    return elements_differentiable<T, T, Above...>(
        std::make_index_sequence<std::tuple_size_v<T>>{});
  } else if constexpr (kind == Kind::fields) {
    return fields_differentiable<T, T, Above...>(
        std::make_index_sequence<reflect::field_count<T>()>{});
  } else {
    return true;
  }
}

/// The misuses that are visible in a type, each with its remedy.
template <class T>
constexpr void check_kind() {
  static_assert(kind_of<T>() != Kind::pointer,
                "gnomon: a raw pointer cannot be a field of a tree, what it points at may change "
                "unseen; hold the "
                "value itself, or a std::string for text");
  static_assert(kind_of<T>() != Kind::c_array,
                "gnomon: a C array cannot be a field of a tree; use std::array");
  static_assert(kind_of<T>() != Kind::unsupported,
                "gnomon: this type cannot be part of a tree. A closure with captures cannot be "
                "compared: use a struct "
                "with operator(). A class with private members: make it an aggregate, or give it "
                "`static auto fields(T&)` that returns std::tie of its members");
}

}  // namespace detail

/// A type made of Arrays and static values. For overloads; functions that take any T and walk it
/// give better messages.
template <class T>
concept Tree = detail::is_tree<std::remove_cvref_t<T>>();

/// A static value of any type, as far as walks look at it.
struct StaticValue {
  const void* value;
  void (*append_key)(const void* value, std::string& bytes);  // floats by bits
  std::string (*text)(const void* value);
  std::optional<std::int64_t> integer = {};  // what an integer is; bool is none
  const void* type = nullptr;                // detail::type_identity of the value's type
};

/// What a walk meets, in order of declaration. One type for all visits: what is compiled for a tree
/// is one walk.
class Visitor {
 public:
  virtual void leaf(const Array&) = 0;
  virtual void value(const StaticValue&) {}
  virtual void count(std::size_t) {}  // the length of a vector, before its elements
  virtual void presence(bool) {}      // whether an optional holds a value
  virtual void nothing() {}           // a class without members
  /// Around each field (by name) and element (by index, no name). Not called unless `by_path`.
  virtual void enter(std::string_view, std::size_t) {}
  virtual void leave() {}
  const bool by_path;

 protected:
  explicit Visitor(bool paths = false) : by_path(paths) {}
  ~Visitor() = default;
};

namespace detail {

template <class T>
StaticValue static_value(const T&);

/// `visit` is told of the element or field around it, when it wants to be.
template <class T>
void walk_part(const T& part, std::string_view name, std::size_t index, Visitor& visitor);

}  // namespace detail

/// Visits `t` in order of declaration.
template <class T>
void walk(const T& t, Visitor& visitor) {
  constexpr Kind kind = kind_of<T>();
  detail::check_kind<T>();
  if constexpr (kind == Kind::leaf) {
    visitor.leaf(t);
  } else if constexpr (kind == Kind::value) {
    visitor.value(detail::static_value(t));
  } else if constexpr (kind == Kind::sequence) {
    if constexpr (detail::IsVector<T>::value) visitor.count(t.size());
    for (std::size_t i = 0; i < t.size(); ++i) {
      if constexpr (std::is_same_v<typename T::value_type, bool>) {
        const bool element = t[i];
        detail::walk_part(element, {}, i, visitor);
      } else if constexpr (requires { std::string_view(t[i].name_in_tree()); }) {
        detail::walk_part(t[i], t[i].name_in_tree(), i, visitor);
      } else {
        detail::walk_part(t[i], {}, i, visitor);
      }
    }
  } else if constexpr (kind == Kind::tuple) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (detail::walk_part(std::get<I>(t), {}, I, visitor), ...);
    }
    (std::make_index_sequence<std::tuple_size_v<T>>{});
  } else if constexpr (kind == Kind::optional) {
    visitor.presence(t.has_value());
    if (t) walk(*t, visitor);
  } else if constexpr (kind == Kind::fields) {
    std::size_t i = 0;
    reflect::for_each_field(t, [&](std::string_view name, const auto& field) {
      detail::walk_part(field, name, i++, visitor);
    });
  } else if constexpr (kind == Kind::empty) {
    visitor.nothing();
  }
}

namespace detail {

template <class T>
void walk_part(const T& part, std::string_view name, std::size_t index, Visitor& visitor) {
  if (visitor.by_path) visitor.enter(name, index);
  walk(part, visitor);
  if (visitor.by_path) visitor.leave();
}

/// A tree of any type, to be walked where it lies.
struct AnyTree {
  template <class T>
  static AnyTree of(const T& tree) {
    return {&tree,
            [](const void* at, Visitor& visitor) { walk(*static_cast<const T*>(at), visitor); }};
  }
  void walk_by(Visitor& visitor) const { walk_object(object, visitor); }

  const void* object;
  void (*walk_object)(const void*, Visitor&);
};

}  // namespace detail

namespace detail {

template <class T>
constexpr bool copies();

template <class T, std::size_t... I>
constexpr bool fields_copy(std::index_sequence<I...>) {
  return (copies<reflect::FieldType<T, I>>() && ...);
}
template <class T, std::size_t... I>
constexpr bool elements_copy(std::index_sequence<I...>) {
  return (copies<std::tuple_element_t<I, T>>() && ...);
}

/// Whether `T(t)` compiles all the way down: a vector of move-only elements claims to be copyable.
template <class T>
constexpr bool copies() {
  constexpr Kind kind = kind_of<T>();
  if constexpr (!std::is_copy_constructible_v<T>)
    return false;
  else if constexpr (kind == Kind::sequence || kind == Kind::optional) {
    // A struct may hold a vector of itself; then it is the struct's own fields that decide.
    if constexpr (kind_of<typename T::value_type>() == Kind::fields) {
      return std::is_copy_constructible_v<typename T::value_type>;
    } else {
      return copies<typename T::value_type>();
    }
  } else if constexpr (kind == Kind::tuple) {
    return elements_copy<T>(std::make_index_sequence<std::tuple_size_v<T>>{});
  } else if constexpr (kind == Kind::fields && reflect::PlainStruct<T>) {
    return fields_copy<T>(std::make_index_sequence<reflect::field_count<T>()>{});
  } else {
    return true;
  }
}

}  // namespace detail

/// A copy of `t`, also when it holds classes that users can only move (see TreeAccess).
template <class T>
T clone(const T& t) {
  constexpr Kind kind = kind_of<T>();
  detail::check_kind<T>();
  if constexpr (detail::copies<T>()) {
    return t;
  } else if constexpr (kind == Kind::optional) {
    return t ? T(clone(*t)) : T();
  } else if constexpr (detail::IsVector<T>::value) {
    T result;
    result.reserve(t.size());
    for (const auto& element : t) result.push_back(clone(element));
    return result;
  } else if constexpr (kind == Kind::sequence || kind == Kind::tuple) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) { return T{clone(std::get<I>(t))...}; }
    (std::make_index_sequence<std::tuple_size_v<T>>{});
  } else if constexpr (reflect::PlainStruct<T>) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      const auto all = reflect::fields(t);
      return T{clone(std::get<I>(all))...};
    }
    (std::make_index_sequence<reflect::field_count<T>()>{});
  } else {
    static_assert(TreeAccess::copies<T>(),
                  "gnomon: a move-only class in a tree needs a clone(), or a private copy "
                  "constructor and `friend struct gnomon::TreeAccess`");
    return TreeAccess::copy(t);
  }
}

}  // namespace gnomon::tree
#pragma GCC visibility pop
