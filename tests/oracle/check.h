// tests/oracle/check.h -- runs rows of the table on something that computes, and says what is
// wrong.
#pragma once
#include <functional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "table.h"

namespace oracle {

using Program = std::function<Arrays(const Arrays&)>;

/// Something that computes: the host reference, or a device.
struct Machine {
  std::function<std::vector<HostArray>(const Program&, const std::vector<HostArray>&)> run;
  bool float64 = true;
  bool flushes = false;  // subnormals count as zeros of their sign
};

/// What is wrong, a few lines for each row.
using Complaints = std::vector<std::string>;

Complaints check(const Family&, const Machine&);

/// Exact functions at `count` pairs.
Complaints check_exact(const Exact&, DType, std::uint64_t count, const Machine&);

/// Arguments of functions of one, two or three floats: columns of one length. Special ones first.
std::vector<HostArray> float_arguments(DType, int arity, const Bounds&);
std::vector<HostArray> random_pairs(DType, std::uint64_t first, std::uint64_t count);
std::vector<HostArray> whole_arguments(DType, int arity);
HostArray drawn(const Input&, DType row, std::uint64_t seed);

std::uint64_t random_bits(std::uint64_t);

/// How a float is made of bits.
struct Format {
  int digits;       // with the hidden one
  int least, most;  // exponents of normal numbers
};
Format format_of(DType);

/// Units of the last place between what a machine gave and what is exact, for a float dtype.
double units(double got, const Real& want, DType, double least = 0, bool unsigned_zero = false);

// What GoogleTest calls them.
inline void PrintTo(const Family& f, std::ostream* out) { *out << f.name; }
inline void PrintTo(const Exact& row, std::ostream* out) { *out << row.names; }

/// Lines that are printed of a row that is wrong, at most.
inline constexpr std::size_t lines_per_row = 3;

/// A derivative, zeros where there is none.
gnomon::Array or_zero(const gnomon::Array& a, const gnomon::Array& like);

}  // namespace oracle
