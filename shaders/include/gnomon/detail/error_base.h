// shaders/include/gnomon/detail/error_base.h -- the base of every error class, and our own bugs.
#pragma once
#include <stdexcept>

#pragma GCC visibility push(default)
namespace gnomon {

/// Base of everything this library throws.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Our own bug: an invariant does not hold. Carries the text of the stage that failed, when known.
class InternalError : public Error {
 public:
  using Error::Error;
};

}  // namespace gnomon
#pragma GCC visibility pop
