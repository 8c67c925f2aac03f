// codegen/program/want.h -- how the three examinations of a program file end: by a first complaint.
#pragma once
#include <string>

namespace gnomon {

/// Thrown and caught within one file: the first complaint ends the examination.
struct Complaint {
  std::string what;
};

inline void want(bool good, const char* what) {
  if (!good) throw Complaint{what};
}
inline void want(bool good, const std::string& what) {
  if (!good) throw Complaint{what};
}

}  // namespace gnomon
