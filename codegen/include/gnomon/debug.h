// codegen/include/gnomon/debug.h -- statements in traced code: printing values and stopping at bad
// ones while a compiled function runs.
//
// They may stand anywhere: at the top, in bodies of loops and in branches, under vmap, in functions
// that are differentiated. A loop's condition is the one exception (UsageError); its body gets the
// same values. They are kept though nothing depends on them, and take effect on the host when the
// call has run, so a call with statements waits for the device.
//
// Order: as in the program, steps of a loop one after the other. Under vmap every element makes its
// own statements, each as often as its loops take steps, and what one element says of a loop comes
// together: element 0 with all its steps, then element 1. A vmap in the body of a loop that is not
// mapped speaks once per step.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gnomon/array.h"

#pragma GCC visibility push(default)
namespace gnomon {

/// Thrown on the host after a call in which the predicate of an `error_if` was true. The results of
/// the call are lost; what it was given by move, too. Everything stays usable.
class CheckFailed : public Error {
 public:
  using Error::Error;
};

namespace debug {

/// A text with placeholders and the line it stands in.
struct Format {
  Format(const char* t, Loc l = Loc::here()) : text(t), loc(l) {}             // NOLINT: implicit
  Format(std::string t, Loc l = Loc::here()) : text(std::move(t)), loc(l) {}  // NOLINT: implicit
  std::string text;
  Loc loc;
};

void print_values(const Format&, const std::vector<Operand>& values);

/// Prints a line each time the program comes here: `debug::print("x = {}, k = {}", x, k)`.
///
/// Values are arrays of any dtype and shape, or C++ numbers, printed as NumPy prints them;
/// `{:+8.3f}` asks for sign, width, precision and form (f, e, g, for integers also d and x) of
/// every element, all of it optional. `{{` and `}}` are braces. Without derivative: a
/// differentiated function prints the values it was called with, once. Where lines go is for the
/// Runtime to say (Runtime::on_print). A line inside loops has room for JitOptions::print_bytes,
/// shared by the elements of a vmap; what does not fit is left out, and the number of lines left
/// out is printed at the end of the call. A call that a CancelToken ends prints what the loop it
/// was in had said. Throws UsageError when there are more or fewer values than placeholders, or a
/// placeholder that means nothing for its value.
template <class... A>
void print(const Format& format, const A&... values) {
  print_values(format, {Operand(values, format.loc)...});
}

}  // namespace debug

void check_false(const Operand& predicate, std::string_view message);

/// `x`; the call throws CheckFailed when an element of `predicate` is true here.
///
/// predicate: bool, any shape. The error says the message, this line, how many elements were true
/// and which came first: of the lowest element of a vmap that failed, the first step. With several
/// checks the first in the order of the program speaks. What a derivative computes is not checked.
/// A predicate that is the C++ value false leaves nothing behind.
/// Throws UsageError when the predicate is not bool.
template <class T>
T error_if(T x, const Operand& predicate, std::string_view message) {
  check_false(predicate, message);
  return x;
}

}  // namespace gnomon
#pragma GCC visibility pop
