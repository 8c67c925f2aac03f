// shaders/support/check.h -- internal invariants and the base of every error class.
#pragma once
#include <stdexcept>
#include <string>

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

[[noreturn]] void check_failed(const char* condition, const std::string& detail, const char* file,
                               int line);

}  // namespace gnomon

/// Always on: a broken invariant is an InternalError, never undefined behaviour.
#define GNOMON_CHECK(condition, detail) \
  ((condition) ? void(0) : ::gnomon::check_failed(#condition, (detail), __FILE__, __LINE__))
