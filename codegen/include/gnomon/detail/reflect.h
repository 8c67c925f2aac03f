// codegen/include/gnomon/detail/reflect.h -- the fields of structs and their names, without macros.
//
// An aggregate is reflected as it is: the number of fields is the largest number of initialisers it
// takes, references come from a structured binding, and names are read from how the compiler spells
// the address of a member. A class that is no aggregate opts in with
//     static auto fields(Class& c) { return std::tie(c.a_, c.b_); }
//     static constexpr std::array<std::string_view, 2> field_names = {"a", "b"};  // optional: else
//     [0], [1]
// both may be private when the class says `friend struct gnomon::TreeAccess`.
#pragma once
#include <array>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "gnomon/detail/reflect_tie.h"

#pragma GCC visibility push(default)
namespace gnomon {

class Array;

/// Reaches the private fields, and the private copy constructor or `clone()`, of a class that
/// befriends it: such a class is move-only to its users and can still be rebuilt by the library.
struct TreeAccess {
  template <class T>
  static constexpr bool has_fields() {
    return requires(T & t) { T::fields(t); };
  }
  template <class T>
  static constexpr bool has_names() {
    return requires { T::field_names.size(); };
  }
  template <class T>
  static constexpr bool clones() {
    return requires(const T& t) { T{t.clone()}; };
  }
  template <class T>
  static constexpr bool copies() {
    return clones<T>() || requires(const T& t) { T(t); };
  }
  template <class T>
  static constexpr auto fields(T& t) {
    return T::fields(t);
  }
  template <class T>
  static constexpr std::string_view field_name(std::size_t i) {
    return T::field_names[i];
  }
  template <class T>
  static T copy(const T& t) {
    if constexpr (requires { t.clone({}); })
      return t.clone({});  // without a line: this one is nobody's
    else if constexpr (clones<T>())
      return t.clone();
    else
      return T(t);
  }
};

namespace reflect {

template <class T>
struct IsStdArray : std::false_type {};
template <class T, std::size_t N>
struct IsStdArray<std::array<T, N>> : std::true_type {};

/// A class that lists its fields itself.
template <class T>
concept ListsFields = std::is_class_v<T> && TreeAccess::has_fields<T>();

/// A struct whose members are found without its help.
template <class T>
concept PlainStruct =
    std::is_class_v<T> && std::is_aggregate_v<T> && !IsStdArray<T>::value && !ListsFields<T>;

template <class T>
concept Reflected = ListsFields<T> || PlainStruct<T>;

namespace detail {

// The conversions below are never called; clang asks for their bodies all the same when T is local
// to a file.

/// Converts to everything but T and its bases, so that `T{Any}` never means a copy of T.
template <class T>
struct AnyExcept {
  template <class U>
  requires(!std::is_base_of_v<U, T>) operator U() const noexcept { __builtin_unreachable(); }
};

/// Converts to what C arrays are made of in practice. Anything wider would make containers try to
/// copy elements that cannot be copied.
struct AnyElement {
  template <class U>
  requires(std::is_scalar_v<U> || std::is_same_v<U, Array>) operator U() const noexcept {
    __builtin_unreachable();
  }
};

template <class T, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return requires { T{((void)I, AnyExcept<T>{})...}; };
}

/// Initialisers: `Before` single ones, one `{_, _}`, `After` single ones.
template <class T, std::size_t... Before, std::size_t... After>
constexpr bool takes_pair(std::index_sequence<Before...>, std::index_sequence<After...>) {
  return requires {
    T{((void)Before, AnyExcept<T>{})...,
      {AnyElement{}, AnyElement{}},
      ((void)After, AnyExcept<T>{})...};
  };
}

// Fields without a default make small counts ill-formed, so every count up to the limit is tried.
template <class T, std::size_t N = 0, std::size_t Last = 0>
constexpr std::size_t initialisers() {
  if constexpr (N > max_fields + 1)
    return Last;
  else if constexpr (takes<T>(std::make_index_sequence<N>{}))
    return initialisers<T, N + 1, N>();
  else
    return initialisers<T, N + 1, Last>();
}

/// Without braces a C array swallows one initialiser per element. So: a `{_, _}` at position P
/// takes one field of a struct without C arrays, which leaves N - P - 1; it takes more of one with
/// a C array of two or more there.
template <class T, std::size_t N, std::size_t P = 0>
constexpr bool has_c_array() {
  if constexpr (P >= N) {
    return false;
  } else if constexpr (takes_pair<T>(std::make_index_sequence<P>{}, std::index_sequence<>{}) &&
                       !takes_pair<T>(std::make_index_sequence<P>{},
                                      std::make_index_sequence<N - P - 1>{})) {
    return true;
  } else {
    return has_c_array<T, N, P + 1>();
  }
}

template <class T>
constexpr std::size_t count() {
  if constexpr (ListsFields<T>) {
    return std::tuple_size_v<decltype(TreeAccess::fields(std::declval<T&>()))>;
  } else if constexpr (std::is_empty_v<T>) {
    return 0;
  } else {
    constexpr std::size_t n = initialisers<T>();
    static_assert(
        n <= max_fields,
        "gnomon: a struct has at most 32 fields; group some of them into a struct of their own");
    static_assert(
        n > 0,
        "gnomon: the fields of this struct cannot be found (does it have a base class?); give it "
        "`static auto fields(T&)` that returns std::tie of them");
    static_assert(!has_c_array<T, n>(),
                  "gnomon: a C array cannot be a field of a tree; use std::array");
    return n;
  }
}

// A member's name is how the compiler spells the address of that member of an object that never
// exists.
#if defined(__clang__)
template <class T>
union Never {
  char none;
  T value;
  Never() : none{} {}
  ~Never() {}
};
template <class T>
inline const Never<T> never{};
template <class T>
constexpr const T& never_value() {
  return never<T>.value;
}
#else
template <class T>
struct Never {
  T value;
};
template <class T>
extern const Never<T> never;
template <class T>
constexpr const T& never_value() {
  return never<T>.value;
}
#endif

template <class T>
struct Address {
  const T* pointer;
};
template <class T>
Address(const T*) -> Address<T>;

template <auto A>
constexpr std::string_view spelled() {
  return __PRETTY_FUNCTION__;
}

constexpr bool in_identifier(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// The last identifier before the bracket that closes the address.
constexpr std::string_view last_identifier(std::string_view text) {
#if defined(__clang__)
  std::size_t end = text.rfind('}');
#else
  std::size_t end = text.find(");");
  if (end == text.npos) end = text.rfind(')');
#endif
  while (end > 0 && !in_identifier(text[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && in_identifier(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}

template <class T, std::size_t I>
constexpr std::string_view plain_name() {
#if defined(__clang__)
  return last_identifier(
      spelled<Address{&std::get<I>(tie_members<count<T>()>(never_value<T>()))}>());
#else
  return last_identifier(spelled<&std::get<I>(tie_members<count<T>()>(never_value<T>()))>());
#endif
}

}  // namespace detail

template <class T>
constexpr std::size_t field_count() {
  return detail::count<std::remove_const_t<T>>();
}

/// References to the fields of `t`, const when `t` is; a class that lists its fields gives what it
/// lists.
template <class T>
constexpr auto fields(T& t) {
  using U = std::remove_const_t<T>;
  if constexpr (ListsFields<U>) {
    // `fields` takes a mutable class and only forms references; they are const again where they are
    // used.
    const auto listed = TreeAccess::fields(const_cast<U&>(t));
    if constexpr (std::is_const_v<T>) {
      return std::apply([](auto&... f) { return std::tie(std::as_const(f)...); }, listed);
    } else {
      return listed;
    }
  } else {
    return tie_members<detail::count<U>()>(t);
  }
}

template <class T, std::size_t I>
using FieldType = std::remove_cvref_t<
    std::tuple_element_t<I, decltype(fields(std::declval<std::remove_cvref_t<T>&>()))>>;

/// "weight"; empty when the class lists fields without names.
template <class T, std::size_t I>
constexpr std::string_view field_name() {
  if constexpr (!ListsFields<T>)
    return detail::plain_name<T, I>();
  else if constexpr (TreeAccess::has_names<T>())
    return TreeAccess::field_name<T>(I);
  else
    return {};
}

/// Calls `f(name, field)` in order of declaration.
template <class T, class F>
constexpr void for_each_field(T& t, F&& f) {
  using U = std::remove_const_t<T>;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    [[maybe_unused]] const auto all = fields(t);
    (f(field_name<U, I>(), std::get<I>(all)), ...);
  }
  (std::make_index_sequence<field_count<U>()>{});
}

}  // namespace reflect
}  // namespace gnomon
#pragma GCC visibility pop
