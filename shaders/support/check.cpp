// shaders/support/check.cpp -- raises InternalError.
#include "shaders/support/check.h"

namespace gnomon {

void check_failed(const char* condition, const std::string& detail, const char* file, int line) {
  throw InternalError("gnomon: internal error: " + detail + " (" + condition + " is false at " +
                      file + ":" + std::to_string(line) + ")");
}

}  // namespace gnomon
