// codegen/include/gnomon/axes.h -- what the elements of a vmap do together: psum, pmean, pmax,
// pmin, all_gather, axis_index, axis_size over an axis with a name.
//
//   const auto normed = vmap([](const Array& x) { return x - pmean(x, "batch"); },
//                            {.axis_name = "batch"});
//
// The axis is that of the nearest vmap around with that name (VmapOptions::axis_name). They work in
// loops, branches and derivatives inside of it: in a loop whose elements stop apart, those that
// have stopped take part with the values they stopped at; in a branch every element takes part,
// whichever branch it takes. All throw UsageError when there is no such axis, naming those there
// are.
#pragma once
#include <string>

#include "gnomon/tree.h"

#pragma GCC visibility push(default)
namespace gnomon {

namespace detail {
Array sum_over(const Array&, const std::string& axis, Loc);
Array mean_over(const Array&, const std::string& axis, Loc);
Array most_over(const Array&, bool largest, const std::string& axis, Loc);
Array gather_over(const Array&, const std::string& axis, int position, Loc);
}  // namespace detail

/// The sum over all elements of each array of numbers in `tree`. Of what does not vary: the number
/// of elements times it. Its transpose is psum: a gradient taken inside of the vmap adds up what
/// all elements say about one.
template <class T>
T psum(const T& tree, const std::string& axis, Loc loc = Loc::here()) {
  return tree::map([&](const Array& a) { return detail::sum_over(a, axis, loc); }, tree);
}

/// The mean over all elements of each array, which must be of floats.
template <class T>
T pmean(const T& tree, const std::string& axis, Loc loc = Loc::here()) {
  return tree::map([&](const Array& a) { return detail::mean_over(a, axis, loc); }, tree);
}

/// The largest over all elements, place by place; derivatives are shared among equal ones.
template <class T>
T pmax(const T& tree, const std::string& axis, Loc loc = Loc::here()) {
  return tree::map([&](const Array& a) { return detail::most_over(a, true, axis, loc); }, tree);
}
/// The smallest.
template <class T>
T pmin(const T& tree, const std::string& axis, Loc loc = Loc::here()) {
  return tree::map([&](const Array& a) { return detail::most_over(a, false, axis, loc); }, tree);
}

/// What all elements have, along a new axis at `position` (negative from the end) of each array.
template <class T>
T all_gather(const T& tree, const std::string& axis, int position = 0, Loc loc = Loc::here()) {
  return tree::map([&](const Array& a) { return detail::gather_over(a, axis, position, loc); },
                   tree);
}

/// The number of this element, i32[].
Array axis_index(const std::string& axis, Loc loc = Loc::here());

/// How many elements there are, known when tracing.
Dim axis_size(const std::string& axis, Loc loc = Loc::here());

}  // namespace gnomon
#pragma GCC visibility pop
