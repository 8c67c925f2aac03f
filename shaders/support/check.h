// shaders/support/check.h -- internal invariants.
#pragma once
#include <string>

#include "gnomon/detail/error_base.h"

namespace gnomon {

[[noreturn]] void check_failed(const char* condition, const std::string& detail, const char* file,
                               int line);

}  // namespace gnomon

/// Always on: a broken invariant is an InternalError, never undefined behaviour.
#define GNOMON_CHECK(condition, detail) \
  ((condition) ? void(0) : ::gnomon::check_failed(#condition, (detail), __FILE__, __LINE__))
