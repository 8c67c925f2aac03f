// codegen/base/pass_log.cpp -- what passes did, as text.
#include "codegen/base/pass_log.h"

#include <algorithm>
#include <cmath>

namespace gnomon {

bool PassLog::runs(std::string_view pass) const {
  return std::find(options_.left_out.begin(), options_.left_out.end(), pass) ==
         options_.left_out.end();
}

void PassLog::add(std::string_view pass, std::string_view of, std::size_t before, std::size_t after,
                  double microseconds, std::string_view text) {
  text_ += "pass ";
  text_.append(pass).append(": ").append(of);
  text_ += ", " + std::to_string(before) + " -> " + std::to_string(after) + " instructions, " +
           std::to_string(std::lround(microseconds)) + " us\n";
  text_ += text;
}

}  // namespace gnomon
