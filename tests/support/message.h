// tests/support/message.h -- what an error says.
#pragma once
#include <string>

#include "gnomon/error.h"

namespace gnomon::testing {

/// The text of the Error that `f()` throws; "no error" where it throws none.
template <class F>
std::string message(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace gnomon::testing
