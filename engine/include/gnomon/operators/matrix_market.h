// engine/include/gnomon/operators/matrix_market.h -- sparse matrices in files that other programs
// read and write.
#pragma once
#include <iosfwd>
#include <string>

#include "gnomon/error.h"
#include "gnomon/operators/sparse.h"

#pragma GCC visibility push(default)
namespace gnomon::operators {

/// The entries of a Matrix Market file: coordinate or array format; real, integer or pattern (every
/// entry is 1); general, symmetric or skew-symmetric, of which both halves are returned. Entries of
/// an array that are 0 are left out; those of one place are kept apart, and to_csr adds them up.
///
/// What the file announces allocates nothing: memory grows with the entries that come.
/// Throws FileError for a file that cannot be read or is malformed, which names the file, the line,
/// what is there and what was expected; complex and Hermitian matrices are refused, and sizes that
/// have no indices of 32 bits.
/// Source: R. Boisvert, R. Pozo and K. Remington, The Matrix Market Exchange Formats: Initial
/// Design, NISTIR 5935, 1996.
Triplets read_matrix_market(const std::string& path);
/// The same of a stream that messages call `name`.
Triplets read_matrix_market(std::istream& in, const std::string& name = "the stream");

/// Writes these entries in coordinate format, real and general, each number with the fewest digits
/// that read back as the same one.
/// Throws UsageError for indices outside of the matrix, lists of different lengths, and values that
/// are not finite, which the format has no words for; FileError where it cannot be written.
void write_matrix_market(const std::string& path, const Triplets&, Loc loc = Loc::here());
void write_matrix_market(std::ostream& out, const Triplets&, Loc loc = Loc::here());

}  // namespace gnomon::operators
#pragma GCC visibility pop
