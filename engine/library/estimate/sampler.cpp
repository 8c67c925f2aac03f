// engine/library/estimate/sampler.cpp -- probes by their kinds.
#include "gnomon/estimate/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "engine/library/estimate/blocks.h"
#include "gnomon/indexing.h"
#include "gnomon/linalg.h"

namespace gnomon::estimate {
namespace {

using detail::Arrays;

Shape with_last(const Shape& s, Dim k) {
  std::vector<Dim> dims(s.begin(), s.end());
  dims.push_back(k);
  return Shape(dims);
}

/// Each array of the space by a key of its own.
template <class F>
Arrays each(Key key, const operators::Space& space, const F& f, Loc loc) {
  const std::size_t count = space.arrays.size();
  if (count == 1) return {f(std::move(key), space.arrays[0])};
  const Keys keys = random::split(std::move(key), static_cast<Dim>(count), loc);
  Arrays result;
  for (std::size_t i = 0; i < count; ++i)
    result.push_back(f(keys[static_cast<Dim>(i)], space.arrays[i]));
  return result;
}

/// What numbers are computed in that end up as `t`.
DType computed(DType t) { return t == DType::f64 ? t : DType::f32; }

Arrays orthogonal(Key key, const operators::Space& space, Dim size, Dim k, Loc loc) {
  const Dim n = space.size(), together = std::min(size, n);
  const Dim blocks = (k + together - 1) / together;
  const DType dtype = computed(space.dtype());
  const Array normals = random::normal(std::move(key), {blocks, n, together}, dtype, loc);
  const linalg::Qr f = linalg::qr(normals);
  // The signs of R's diagonal make directions of equal probability of the columns.
  const Array diagonal = sum(f.r * eye(together, dtype), {-1});
  const Array q = f.q * expand_dims(where(diagonal < 0, -1, 1), 1) * std::sqrt(double(n));
  const Array columns = reshape(transpose(q, {1, 0, 2}), {n, blocks * together});
  return detail::unflat(slice_axis(columns, 1, 0, k), space);
}

}  // namespace

Arrays draw(const Sampler& sampler, Key key, const operators::Space& space, Dim k, Loc loc) {
  detail::require_positive("estimate::draw", "k", k, loc);
  const auto normals = [&](Key own, const Aval& a) {
    return random::normal(std::move(own), with_last(a.shape, k), computed(a.dtype), loc);
  };
  const auto drawn = [&](const auto& kind) -> Arrays {
    using Kind = std::remove_cvref_t<decltype(kind)>;
    if constexpr (std::is_same_v<Kind, Rademacher>) {
      const auto f = [&](Key own, const Aval& a) {
        return random::rademacher(std::move(own), with_last(a.shape, k), a.dtype, loc);
      };
      return each(std::move(key), space, f, loc);
    } else if constexpr (std::is_same_v<Kind, Normal>) {
      const auto f = [&](Key own, const Aval& a) {
        return cast(normals(std::move(own), a), a.dtype);
      };
      return each(std::move(key), space, f, loc);
    } else if constexpr (std::is_same_v<Kind, Sphere>) {
      Arrays z = each(std::move(key), space, normals, loc);
      const Array squares = detail::dots(z, z, computed(space.dtype()));
      const Array scale = std::sqrt(static_cast<double>(space.size())) * rsqrt(squares);
      for (std::size_t i = 0; i < z.size(); ++i)
        z[i] = cast(z[i] * cast(scale, z[i].dtype()), space.arrays[i].dtype);
      return z;
    } else if constexpr (std::is_same_v<Kind, SparseSigns>) {
      const double s = kind.s;
      if (!(s >= 1))
        usage_error("estimate::SparseSigns",
                    "s is " + std::to_string(s) + "; one number in s is not 0, so s is at least 1",
                    loc);
      const auto f = [&](Key own, const Aval& a) {
        const DType dtype = computed(a.dtype);
        const Array u = random::uniform(std::move(own), with_last(a.shape, k), 0, 1, dtype);
        const double root = std::sqrt(s), share = 1 / (2 * s);
        const Array z = where(u < share, -root, where(u < 2 * share, root, 0.0));
        return cast(z, a.dtype);
      };
      return each(std::move(key), space, f, loc);
    } else {
      detail::require_positive("estimate::OrthogonalBlocks", "size", kind.size, loc);
      return orthogonal(std::move(key), space, kind.size, k, loc);
    }
  };
  return std::visit(drawn, sampler);
}

namespace detail {

Array flat(const Arrays& block, const Space& space) {
  const DType dtype = space.dtype();
  Arrays rows;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const Dim n = space.arrays[i].shape.size(), k = block[i].dim(-1);
    const Array a = cast(block[i], dtype);
    rows.push_back(a.rank() == 2 ? a : reshape(a, {n, k}));
  }
  return rows.size() == 1 ? rows[0] : concatenate(rows);
}

Arrays unflat(const Array& block, const Space& space) {
  Arrays result;
  Dim first = 0;
  for (const Aval& a : space.arrays) {
    const Dim n = a.shape.size();
    const Array rows = space.arrays.size() == 1 ? block : slice_axis(block, 0, first, first + n);
    first += n;
    const bool flat = a.shape.rank() == 1;
    result.push_back(cast(flat ? rows : reshape(rows, with_last(a.shape, block.dim(1))), a.dtype));
  }
  return result;
}

Array product(const Operator& a, const Array& x, Loc loc) {
  return flat(a.mm(unflat(x, a.in()), loc), a.out());
}

Array dots(const Arrays& x, const Arrays& y, DType dtype) {
  Array total;
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::vector<int> axes;
    for (int axis = 0; axis + 1 < x[i].rank(); ++axis) axes.push_back(axis);
    Array part = cast(x[i], dtype) * cast(y[i], dtype);
    if (!axes.empty()) part = sum(part, axes);
    total = total.empty() ? part : total + part;
  }
  return total;
}
Array dots(const Array& x, const Array& y) { return sum(x * y, {0}); }

Arrays constant(const Arrays& x) {
  Arrays result;
  for (const Array& a : x) result.push_back(stop_gradient(a));
  return result;
}

Batches batches(Dim k, const Space& space, Dim wanted, Dim together) {
  // A block of 2^22 numbers is small beside what else is in memory; more than 128 columns do not
  // make a product cheaper by the column.
  const Dim cheap = std::clamp<Dim>((Dim{1} << 22) / std::max<Dim>(space.size(), 1), 16, 128);
  Dim most = wanted > 0 ? wanted : cheap;
  most = std::max(together, most / together * together);
  if (k <= most) return {k, 1, 0};
  // One of the sizes a little below that leaves nothing over.
  if (wanted == 0)
    for (Dim size = most; 2 * size >= most && size >= together; size -= together)
      if (k % size == 0) return {size, k / size, 0};
  return {most, k / most, k % most};
}

Source::Source(const Sampler& sampler, Key key, const Space& space)
    : space_(space), sampler_(sampler), key_(std::move(key)) {}

Source::Source(std::string_view op, const Probes& probes, const Space& space, Loc loc)
    : space_(space), given_(constant(probes.arrays())) {
  Space got;
  for (const Array& a : given_) got.arrays.push_back(a.aval());
  bool same = given_.size() == space.arrays.size() && !given_.empty();
  const auto last = [](const Aval& a) { return a.shape[a.shape.rank() - 1]; };
  for (std::size_t i = 0; same && i < given_.size(); ++i) {
    const Aval &g = got.arrays[i], &want = space.arrays[i];
    same = g.dtype == want.dtype && g.shape.rank() == want.shape.rank() + 1;
    for (int axis = 0; same && axis < want.shape.rank(); ++axis)
      same = g.shape[axis] == want.shape[axis];
    same = same && last(g) == last(got.arrays[0]);
  }
  if (!same)
    usage_error(op,
                "the probes have " + operators::to_string(got) + " and the operator takes " +
                    operators::to_string(space) + "; probes are a block, with one more axis behind",
                loc);
  require_positive(op, "the number of probes", last(got.arrays[0]), loc);
}

Arrays Source::block(const Operand& index, Dim size, Loc loc) const {
  if (given_.empty()) return draw(sampler_, random::fold_in(key_, index), space_, size, loc);
  Arrays result;
  for (const Array& a : given_) {
    if (a.dim(-1) == size) {
      result.push_back(a);
      continue;
    }
    std::vector<Operand> starts(static_cast<std::size_t>(a.rank() - 1), Operand(0, loc));
    const auto n = static_cast<std::int32_t>(size);
    starts.emplace_back(index * n, loc);
    std::vector<Dim> sizes(a.shape().begin(), a.shape().end());
    sizes.back() = size;
    result.push_back(dynamic_slice(a, starts, Shape(sizes)));
  }
  return result;
}

Arrays Source::all(Dim k, Loc loc) const {
  return given_.empty() ? draw(sampler_, key_.clone(), space_, k, loc) : given_;
}

std::optional<Dim> Source::given() const {
  if (given_.empty()) return {};
  return given_[0].dim(-1);
}

Dim Source::together() const {
  const auto* blocks = std::get_if<OrthogonalBlocks>(&sampler_);
  return given_.empty() && blocks ? std::min(blocks->size, std::max<Dim>(space_.size(), 1)) : 1;
}

bool Source::rotation_invariant() const {
  return given_.empty() &&
         (std::holds_alternative<Normal>(sampler_) || std::holds_alternative<Sphere>(sampler_));
}

Mean mean_of(const Array& samples, Dim together) {
  const Dim k = samples.dim(0), groups = k / together;
  const Array value = mean(samples, {0});
  Array own = stop_gradient(samples);
  if (together > 1)
    own = mean(reshape(slice_axis(own, 0, 0, groups * together), {groups, together}), {1});
  // One number says nothing of its variance.
  if (groups < 2) return {value, full({}, std::numeric_limits<double>::quiet_NaN(), value.dtype())};
  const Array deviation = standard_deviation(own, {0}, {.ddof = 1});
  return {value, deviation * (1 / std::sqrt(static_cast<double>(groups)))};
}

Array with_covariance(const Array& error, const Array& apart) {
  const Dim m = apart.dim(0);
  const Array pairs = where(eye(m, DType::boolean), 0, apart * transpose(apart));
  const Array covariance = sum(pairs) * (1 / (double(m) * double(m - 1)));
  return sqrt(square(error) + maximum(covariance, 0));
}

void require_positive(std::string_view op, const char* name, Dim k, Loc loc) {
  if (k < 1)
    usage_error(op, std::string(name) + " is " + std::to_string(k) + "; it has to be 1 or more",
                loc);
}

}  // namespace detail
}  // namespace gnomon::estimate
