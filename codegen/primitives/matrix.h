// codegen/primitives/matrix.h -- the language of the linear algebra rules: matrices in the last two
// axes, a batch in front of them.
#pragma once
#include <functional>
#include <vector>

#include "codegen/lax/lax.h"

namespace gnomon::matrix {

// ---- arithmetic on arrays of one shape

/// An array in a formula. C++ numbers take its dtype and shape.
struct Term {
  Array a;
  Term() = default;
  Term(const Array& array) : a(array) {}       // NOLINT: implicit on purpose
  operator const Array&() const { return a; }  // NOLINT: likewise
};
inline Term operator+(const Term& x, const Term& y) { return lax::add(x.a, y.a); }
inline Term operator-(const Term& x, const Term& y) { return lax::sub(x.a, y.a); }
inline Term operator*(const Term& x, const Term& y) { return lax::mul(x.a, y.a); }
inline Term operator/(const Term& x, const Term& y) { return lax::div(x.a, y.a); }
inline Term operator+(const Term& x, double y) { return lax::add(x.a, y); }
inline Term operator*(const Term& x, double y) { return lax::mul(x.a, y); }
inline Term operator/(double x, const Term& y) { return lax::div(lax::full_like(y.a, x), y.a); }
inline Term operator-(const Term& x) { return lax::neg(x.a); }

inline Array number_like(const Term& x, double y) { return lax::full_like(x.a, y); }
inline Term square_root(const Term& x) { return lax::unary(sqrt_p, x.a); }
inline Term magnitude(const Term& x) { return lax::unary(abs_p, x.a); }
inline Term larger(const Term& x, const Term& y) { return emit1(max_p, {}, {x.a, y.a}, {}); }
inline Term smaller(const Term& x, const Term& y) { return emit1(min_p, {}, {x.a, y.a}, {}); }
inline Array exceeds(const Term& x, const Term& y) { return lax::lt(y.a, x.a); }
inline Array exceeds(const Term& x, double y) { return lax::lt(number_like(x, y), x.a); }
inline Array equals(const Term& x, double y) { return lax::eq(x.a, number_like(x, y)); }
inline Array at_least(const Term& x, const Term& y) { return emit1(ge_p, {}, {x.a, y.a}, {}); }
inline Array either(const Array& x, const Array& y) { return emit1(or_p, {}, {x, y}, {}); }
inline Term choose(const Array& predicate, const Term& yes, const Term& no) {
  return lax::select(predicate, yes.a, no.a);
}
/// 1 where x >= 0, else -1.
Term sign_of(const Term& x);

// ---- shape

inline Dim rows(const Array& a) { return a.shape()[a.rank() - 2]; }
inline Dim columns(const Array& a) { return a.shape()[a.rank() - 1]; }
inline Shape batch_of(const Array& a) { return a.shape().part(0, a.rank() - 2); }
/// `batch` with more axes behind it.
Shape extended(Shape batch, std::initializer_list<Dim> more);

Array transposed(const Array& a);
/// a b, with either side transposed when asked for; the batches are equal.
Array product(const Array& a, const Array& b, bool a_transposed = false, bool b_transposed = false);
/// v[.., n] as rows of an [.., m, n].
inline Array as_rows(const Array& v, Dim m) { return lax::insert_axis(v, v.rank() - 1, m); }
/// v[.., m] as columns of an [.., m, n].
inline Array as_columns(const Array& v, Dim n) { return lax::insert_axis(v, v.rank(), n); }
/// x[..] repeated over more axes behind it.
Array spread(const Array& x, const Shape& shape);
/// Row (column) numbers of a matrix as i32[.., m, n].
inline Array row_index(const Shape& s) { return lax::iota(DType::i32, s, s.rank() - 2); }
inline Array column_index(const Shape& s) { return lax::iota(DType::i32, s, s.rank() - 1); }

Array identity(DType dtype, const Shape& batch, Dim n);
/// Elements with column - row <= k (>= k); zero elsewhere.
Array lower_part(const Array& a, Dim k = 0);
Array upper_part(const Array& a, Dim k = 0);
/// [.., m, n] -> [.., min(m, n)].
Array diagonal(const Array& a);
/// a + a^T, halved: exact for symmetric matrices.
Array symmetrized(const Array& a);

/// Rows [r0, r1) and columns [c0, c1).
Array block(const Array& a, Dim r0, Dim r1, Dim c0, Dim c1);
inline Array row_range(const Array& a, Dim r0, Dim r1) { return block(a, r0, r1, 0, columns(a)); }
inline Array column_range(const Array& a, Dim c0, Dim c1) { return block(a, 0, rows(a), c0, c1); }
/// [[a, b], [c, d]].
Array blocks(const Array& a, const Array& b, const Array& c, const Array& d);
/// Zeros behind the last row and column; ones on the new diagonal when asked for.
Array padded(const Array& a, Dim m, Dim n, bool identity_corner = false);

/// Column `j` (a traced i32[]) as [.., m]; `with_column` replaces it.
Array column_at(const Array& a, const Array& j);
Array row_at(const Array& a, const Array& i);
/// Rows i .. i + m - 1, columns j .. j + n - 1.
Array block_at(const Array& a, const Array& i, const Array& j, Dim m, Dim n);
Array with_block(const Array& a, const Array& update, const Array& i, const Array& j);
/// Rows in the order of `indices` [.., m].
Array rows_taken(const Array& a, const Array& indices);
/// Elements of v[.., n] in the order of `indices` [.., m].
Array taken(const Array& v, const Array& indices);

// ---- tiny matrices as C++ arrays of their elements, each of the batch's shape

using Elements = std::vector<std::vector<Term>>;
Elements elements(const Array& a);
std::vector<Term> vector_elements(const Array& v);
Array matrix_of(const Elements&);
Array vector_of(const std::vector<Term>&);

// ---- loops

/// body(i, carried) for i = 0 .. count - 1.
Arrays repeat(Dim count, const Arrays& init,
              const std::function<Arrays(const Array& i, const Arrays&)>& body);
/// What `f` makes of `inputs`, by a loop of one trip: one lane then computes all of a small matrix,
/// where an elementwise kernel would have a lane for each of its elements.
Arrays by_matrix(const Arrays& inputs, const std::function<Arrays(const Arrays&)>& f);

/// body(carried) as long as open(carried), at most `limit` times. With a batch of rank 1 `open` is
/// a bool per matrix, and matrices (lanes) stop on their own; else it is one bool.
Arrays repeat_while(Dim limit, const Arrays& init, const Shape& batch,
                    const std::function<Array(const Arrays&)>& open,
                    const std::function<Arrays(const Arrays&)>& body);

struct Rounds {
  Dim per_sweep = 1;
  Dim sweeps = 1;  // at most
  double tolerance = 0;
};
/// Jacobi's iteration: `round(carried)` gives the next carried arrays and then, per matrix, how
/// large the largest element was that it removed. Ends after the sweep in which that stays below
/// the tolerance for every matrix; the batch is one axis, of which every matrix stops on its own,
/// or none.
Arrays sweep(const Rounds&, const Arrays& init, const Shape& batch,
             const std::function<Arrays(const Arrays&)>& round);

}  // namespace gnomon::matrix
