// codegen/include/gnomon/partition.h -- trees taken apart by leaf and put together again, or with
// some of their parts replaced.
//
// A *spec* says which arrays of a tree are meant:
//   bool(const Array&)                      by what they are:  tree::is_float
//   bool(const Array&, const std::string&)  by where they are: ".layers[0].weight"
//   a function of T& that gives a reference to a part, or several as std::tie(...):
//     [](Model& m) -> auto& { return m.head; }
// The arrays that are not meant become holes. A tree with holes is a tree like any other with fewer
// leaves: what `grad`, `jit`, `vmap` and loops do, they do to the arrays that are there.
//
//   auto [trained, frozen] = tree::separate(model, [](Model& m) -> auto& { return m.head; });
//   auto g = grad([&](const Model& t) { return loss(tree::combine(t, frozen), x); })(trained);
#pragma once
#include <algorithm>
#include <initializer_list>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "gnomon/tree.h"

#pragma GCC visibility push(default)
namespace gnomon::tree {

/// Specs by element type. The first is what can be differentiated in.
inline bool is_float(const Array& a) { return gnomon::is_float(a.dtype()); }
inline bool is_integer(const Array& a) { return gnomon::is_integer(a.dtype()); }

namespace detail {

[[noreturn]] void not_a_part(std::size_t index, Loc);
[[noreturn]] void filled_twice(const std::string& path, std::size_t first, std::size_t second, Loc);
[[noreturn]] void other_structure(std::size_t tree, Loc);
/// Throws UsageError unless `parts` are among `slots`, each once.
void check_parts(std::vector<const Array*> slots, const std::vector<const Array*>& parts, Loc);

template <class P>
void append_addresses(P& part, std::vector<const Array*>& out) {
  if constexpr (IsTuple<std::remove_const_t<P>>::value && !std::is_const_v<P>) {
    // std::tie gives a tuple of references, which is no tree.
    std::apply([&](auto&... parts) { (append_addresses(parts, out), ...); }, part);
  } else {
    for_each_slot(part, [&](const Array& a) { out.push_back(&a); });
  }
}

/// One flag per slot; holes are never meant.
template <class T, class S>
std::vector<bool> selected(const T& tree, S&& spec, Loc loc) {
  std::vector<bool> flags;
  if constexpr (std::is_invocable_r_v<bool, S&, const Array&>) {
    for_each_slot(tree, [&](const Array& a) { flags.push_back(!a.is_hole() && spec(a)); });
  } else if constexpr (std::is_invocable_r_v<bool, S&, const Array&, const std::string&>) {
    for_each_slot(tree, [&](const Array& a, const std::string& path) {
      flags.push_back(!a.is_hole() && spec(a, path));
    });
  } else {
    static_assert(std::is_invocable_v<S&, T&>,
                  "gnomon: a spec is bool(const Array&), bool(const Array&, const std::string& "
                  "path), or a function of T& that gives a reference to a part of it (or std::tie "
                  "of several)");
    static_assert(std::is_lvalue_reference_v<std::invoke_result_t<S&, T&>> ||
                      IsTuple<std::remove_cvref_t<std::invoke_result_t<S&, T&>>>::value,
                  "gnomon: a spec that names a part gives a reference to it; write `-> auto&`");
    T copy = clone(tree);
    std::vector<const Array*> meant;
    if constexpr (std::is_lvalue_reference_v<std::invoke_result_t<S&, T&>>) {
      for_each_slot(spec(copy), [&](const Array& a) { meant.push_back(&a); });
    } else {
      auto parts = spec(copy);
      append_addresses(parts, meant);
    }
    std::size_t found = 0;
    for_each_slot(std::as_const(copy), [&](const Array& a) {
      const bool here = std::find(meant.begin(), meant.end(), &a) != meant.end();
      found += here;
      flags.push_back(here && !a.is_hole());
    });
    for (std::size_t i = 0; i < meant.size() && found < meant.size(); ++i) {
      bool inside = false;
      for_each_slot(std::as_const(copy), [&](const Array& a) { inside |= &a == meant[i]; });
      if (!inside) not_a_part(i, loc);
    }
  }
  return flags;
}

template <class T>
T kept(const T& tree, const std::vector<bool>& flags, bool wanted) {
  std::vector<Array> arrays = slots(tree);
  for (std::size_t i = 0; i < arrays.size(); ++i)
    if (flags[i] != wanted) arrays[i] = Array::hole();
  return with_slots(tree, arrays);
}

}  // namespace detail

/// The tree with holes in place of the arrays that `spec` does not mean.
/// Throws UsageError when a named part is no part of the tree.
template <class T, class S>
T filter(const T& tree, S&& spec, Loc loc = Loc::here()) {
  return detail::kept(tree, detail::selected(tree, spec, loc), true);
}

/// {what `spec` means, the rest}: two trees of one structure, each array in one of them.
/// combine(first, second) is the tree again.
template <class T, class S>
std::pair<T, T> separate(const T& tree, S&& spec, Loc loc = Loc::here()) {
  const std::vector<bool> flags = detail::selected(tree, spec, loc);
  return {detail::kept(tree, flags, true), detail::kept(tree, flags, false)};
}

namespace detail {

template <class P, class R>
void replace_part(P& part, R&& by) {
  static_assert(
      !std::is_const_v<P>,
      "gnomon::tree::at: the selector gives a const reference; take the tree as `auto& m` "
      "and write `-> auto&`");
  if constexpr (std::is_invocable_v<R&, const P&>) {
    part = by(std::as_const(part));
  } else if constexpr (std::is_lvalue_reference_v<R> && std::is_same_v<std::remove_cvref_t<R>, P>) {
    part = clone(by);
  } else {
    static_assert(std::is_assignable_v<P&, R&&>,
                  "gnomon::tree::at: what replaces a part has its type, or is a function of the "
                  "part that gives one; for several parts (std::tie) a std::tuple of as many");
    part = std::forward<R>(by);
  }
}

}  // namespace detail

/// Places in a tree as text, as leaf_paths and messages write them: `.layers[0].weight`; the dot in
/// front may be left out.
class Paths {
 public:
  Paths(const char* path) : all_{path} {}                                    // NOLINT: implicit
  Paths(std::string path) : all_{std::move(path)} {}                         // NOLINT: likewise
  Paths(std::vector<std::string> paths) : all_(std::move(paths)) {}          // NOLINT: likewise
  Paths(std::initializer_list<const char*> p) : all_(p.begin(), p.end()) {}  // NOLINT: likewise
  const std::vector<std::string>& all() const { return all_; }

 private:
  std::vector<std::string> all_;
};

namespace detail {
/// The numbers of the slots at each path or below it. Throws UsageError when there are none, or one
/// is named twice.
std::vector<std::vector<std::size_t>> slots_at(AnyTree, const Paths&, Loc);
/// Throws UsageError unless there is a value for each path and one slot for each value.
void check_values(const Paths&, const std::vector<std::vector<std::size_t>>&, std::size_t values,
                  Loc);
}  // namespace detail

/// `tree` with other arrays in the places that `where` names, for trees whose types a program does
/// not know by heart.
///
/// What comes in their place is an Array or several in a vector, one for each path, each of which
/// then names one array or hole; or a function of an Array, for all arrays at the paths and below
/// them (holes stay).
///
///   auto m = tree::at("layers[0].weight", model, new_weight);
///   auto n = tree::at({"encoder", "head.bias"}, model, [](const Array& a) { return 0 * a; });
///
/// Throws UsageError when nothing is at a path, or an array is named twice.
template <class T, class R>
T at(const Paths& where, const T& tree, R&& by, Loc loc = Loc::here()) {
  const auto found = detail::slots_at(detail::AnyTree::of(tree), where, loc);
  std::vector<Array> arrays = slots(tree);
  if constexpr (std::is_invocable_v<R&, const Array&>) {
    for (const auto& some : found)
      for (const std::size_t i : some)
        if (!arrays[i].is_hole()) arrays[i] = by(std::as_const(arrays[i]));
  } else {
    static_assert(std::is_convertible_v<const R&, Array> ||
                      std::is_same_v<std::remove_cvref_t<R>, std::vector<Array>>,
                  "gnomon::tree::at: what comes to a path is an Array, a std::vector of as many as "
                  "paths, or a function of an Array");
    std::vector<Array> values;
    if constexpr (std::is_convertible_v<const R&, Array>)
      values.push_back(by);
    else
      values = by;
    detail::check_values(where, found, values.size(), loc);
    for (std::size_t i = 0; i < found.size(); ++i) arrays[found[i][0]] = values[i];
  }
  return with_slots(tree, arrays);
}

/// `tree` with other values in the parts that `where` names.
///
/// where: a function of T& that gives a reference to a part (an Array, a struct, a vector, a static
/// value), or several as std::tie(...). What comes in their place is a value of the part's type, or
/// a function of the part that gives one; for several parts a std::tuple of these, in order. Shapes
/// and dtypes may change, and holes may be filled. Works outside of traces as well.
///
///   auto m = tree::at([](auto& m) -> auto& { return m.layers[0].weight; }, model, new_weight);
///   auto n = tree::at([](auto& m) { return std::tie(m.head, m.scale); }, model,
///                     std::tuple{new_head, [](const Array& s) { return 2 * s; }});
///
/// Throws UsageError when arrays that are named are not in the tree, or are named twice.
template <class S, class T, class R>
requires(!std::is_convertible_v<S&&, Paths>) T
    at(S&& where, const T& tree, R&& by, Loc loc = Loc::here()) {
  static_assert(std::is_invocable_v<S&, T&>,
                "gnomon::tree::at: the selector is a function of T& that gives a reference to a "
                "part, or std::tie of several");
  using Given = std::invoke_result_t<S&, T&>;
  static_assert(
      std::is_lvalue_reference_v<Given> || detail::IsTuple<std::remove_cvref_t<Given>>::value,
      "gnomon::tree::at: the selector gives a reference to a part; write `-> auto&`");
  T result = clone(tree);
  std::vector<const Array*> slots, parts;
  for_each_slot(std::as_const(result), [&](const Array& a) { slots.push_back(&a); });
  if constexpr (std::is_lvalue_reference_v<Given>) {
    auto& part = where(result);
    for_each_slot(part, [&](const Array& a) { parts.push_back(&a); });
    detail::check_parts(std::move(slots), parts, loc);
    detail::replace_part(part, std::forward<R>(by));
  } else {
    auto given = where(result);
    detail::append_addresses(given, parts);
    detail::check_parts(std::move(slots), parts, loc);
    using By = std::remove_cvref_t<R>;
    constexpr std::size_t count = std::tuple_size_v<std::remove_cvref_t<Given>>;
    static_assert(detail::IsTuple<By>::value,
                  "gnomon::tree::at: several parts are replaced by a std::tuple of as many values");
    if constexpr (detail::IsTuple<By>::value) {
      static_assert(
          std::tuple_size_v<By> == count,
          "gnomon::tree::at: there must be as many values as parts that the selector names");
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        (detail::replace_part(std::get<I>(given), std::get<I>(std::forward<R>(by))), ...);
      }
      (std::make_index_sequence<count>{});
    }
  }
  return result;
}

/// Each array from the tree that has it; a hole where none has. Static values are those of the
/// first tree. Throws UsageError when two trees have one array, or their numbers of Arrays differ.
template <class T, class... More>
T combine(const T& first, const More&... more) {
  static_assert((std::is_same_v<T, More> && ...), "gnomon: combine takes trees of one type");
  std::vector<Array> arrays = slots(first);
  std::vector<std::size_t> from(arrays.size(), 0);
  std::size_t index = 0;
  const auto fill = [&](const T& tree) {
    ++index;
    std::size_t i = 0;
    for_each_slot(tree, [&](const Array& a, const std::string& path) {
      if (i >= arrays.size()) detail::other_structure(index, {});
      if (!a.is_hole()) {
        if (!arrays[i].is_hole()) detail::filled_twice(path, from[i], index, {});
        arrays[i] = a;
        from[i] = index;
      }
      ++i;
    });
    if (i != arrays.size()) detail::other_structure(index, {});
  };
  (fill(more), ...);
  return with_slots(first, arrays);
}

}  // namespace gnomon::tree
#pragma GCC visibility pop
