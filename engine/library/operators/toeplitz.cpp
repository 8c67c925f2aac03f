// engine/library/operators/toeplitz.cpp -- products with circulant and Toeplitz matrices by FFT.
#include "gnomon/fft.h"
#include "gnomon/indexing.h"
#include "gnomon/operators/structured.h"

namespace gnomon::operators {
namespace {

using Arrays = std::vector<Array>;

/// The convolution of `kernel` f[length] with x, rows of a vector or a block, on a circle.
Array circular(const Array& kernel, const Array& x) {
  const Dim length = kernel.size();
  const Complex factors = fft::rfft(kernel, {.n = length, .axis = 0});
  const Complex spectrum = fft::rfft(x, {.n = length, .axis = 0});
  const auto aligned = [&](const Array& a) { return x.rank() == 1 ? a : expand_dims(a, -1); };
  return fft::irfft(Complex{aligned(factors.re), aligned(factors.im)} * spectrum,
                    {.n = length, .axis = 0});
}

/// a[0], a[n - 1], ..., a[1].
Array reversed(const Array& a) {
  const Dim n = a.size();
  return take(a, (n - arange(n)) % static_cast<std::int32_t>(n));
}

/// Column i, row j: kernel[(i - j) mod length] of a matrix [rows, columns] on such a circle.
Array matrix_of(const Array& kernel, Dim rows, Dim columns) {
  const auto length = static_cast<std::int32_t>(kernel.size());
  const Array apart = reshape(arange(rows), {rows, 1}) - reshape(arange(columns), {1, columns});
  return take(kernel, remainder(apart, length));
}

Array rows_of(const Array& x, Dim n) {
  std::vector<Dim> low(static_cast<std::size_t>(x.rank()), 0);
  std::vector<Dim> high(x.shape().begin(), x.shape().end());
  high[0] = n;
  return slice(x, low, high);
}

/// The smallest even length from `least` on that has no prime factor above 5.
Dim quick_length(Dim least) {
  for (Dim n = least + least % 2;; n += 2) {
    Dim rest = n;
    for (const Dim p : {2, 3, 5})
      while (rest % p == 0) rest /= p;
    if (rest == 1) return n;
  }
}

/// The upper left part [rows, columns] of the circulant matrix of `kernel`.
class CirculantMap final : public Map {
 public:
  CirculantMap(Array kernel, Dim rows, Dim columns, const char* name)
      : Map({{{kernel.dtype(), {columns}}}}, {{{kernel.dtype(), {rows}}}}, Tags{}, name),
        kernel_(std::move(kernel)) {}
  Arrays mv(const Arrays& x, Loc) const override {
    const Array all = circular(kernel_, x[0]);
    return {all.dim(0) == out().size() ? all : rows_of(all, out().size())};
  }
  Arrays mm(const Arrays& x, Loc loc) const override { return mv(x, loc); }
  std::shared_ptr<const Map> transpose(Loc) const override {
    return std::make_shared<CirculantMap>(reversed(kernel_), in().size(), out().size(),
                                          name().c_str());
  }
  Array as_matrix(Loc) const override { return matrix_of(kernel_, out().size(), in().size()); }
  std::optional<Array> diagonal(Loc) const override {
    return broadcast_to(reshape(rows_of(kernel_, 1), {1}), {out().size()});
  }

 private:
  Array kernel_;
};

void require_vector(const char* kind, const char* which, const Array& a, DType dtype) {
  if (a.rank() != 1 || a.size() == 0 || !is_float(a.dtype()) || a.dtype() != dtype)
    usage_error(std::string("operators::") + kind,
                std::string(which) + " is " + to_string(a.aval()) +
                    "; a vector of floats, of the "
                    "dtype of the column, is "
                    "needed",
                {});
}

}  // namespace

Circulant::operator Operator() const {
  require_vector("Circulant", "the column", column, column.dtype());
  const Dim n = column.size();
  return Operator(std::make_shared<CirculantMap>(column, n, n, "Circulant")).tagged(tags, {});
}

Toeplitz::operator Operator() const {
  require_vector("Toeplitz", "the column", column, column.dtype());
  if (row) require_vector("Toeplitz", "the row", *row, column.dtype());
  const Array& first = row ? *row : column;
  const Dim m = column.size(), n = first.size(), length = quick_length(m + n - 1);
  // On a circle: the column, what nothing reads, and the row from its end to its second number.
  const Array behind = slice(reversed(first), {1}, {n});
  const Array kernel = concatenate({column, zeros({length - m - n + 1}, column.dtype()), behind});
  Tags all = tags;
  all.symmetric = all.symmetric || !row;
  return Operator(std::make_shared<CirculantMap>(kernel, m, n, "Toeplitz")).tagged(all, {});
}

}  // namespace gnomon::operators
