// engine/library/ode/rest.cpp -- derivatives of where a solve comes to rest: f(t1, y, p) = 0.
#include "engine/library/ode/rest.h"

#include <limits>

#include "gnomon/linalg.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"

namespace gnomon::ode::detail {
namespace {

/// The elements of all arrays, one behind the other.
Array flat(const Arrays& all, DType dtype) {
  Arrays parts;
  for (const Array& a : all) parts.push_back(cast(ravel(a), dtype));
  return concatenate(parts);
}
Arrays like(const Array& flat, const Arrays& all) {
  Arrays parts;
  Dim at = 0;
  for (const Array& a : all) {
    parts.push_back(cast(reshape(slice_axis(flat, 0, at, at + a.size()), a.shape()), a.dtype()));
    at += a.size();
  }
  return parts;
}

}  // namespace

Inputs move_rest(const Enclosed& u, const Memory& kept, const Solved& moved) {
  const Arrays& y = kept.y1;
  Reader reader(kept.inputs.captured);
  std::vector<Arrays> own;
  for (const OpenField& f : u.fields) own.push_back(reader.take(f.captures.size()));
  Arrays x = y;
  for (const Arrays& captured : own)
    for (const Array& c : floats_of(captured)) x.push_back(c);
  const auto slope = [&](const Arrays& at) {
    Reader from(at);
    const Arrays there = from.take(y.size());
    Arrays all = zeros_of(y);
    for (std::size_t i = 0; i < u.fields.size(); ++i)
      all = sum_of(
          std::move(all),
          u.fields[i](with_floats(own[i], from.take(floats_of(own[i]).size())), kept.t1, there));
    return all;
  };
  const auto pullback = vjp(slope, x, u.r.loc);
  // Rows of the Jacobian, then the adjoint: J^T a = dy.
  const auto row = [&](const Array& unit) {
    const Arrays dx = pullback(like(unit, y));
    return flat(Arrays(dx.begin(), dx.begin() + static_cast<std::ptrdiff_t>(y.size())), u.dtype);
  };
  Dim numbers = 0;
  for (const Array& a : y) numbers += a.size();
  const Array jacobian = vmap(row)(eye(numbers, u.dtype));
  const Array solution = linalg::solve(transpose(jacobian), flat(moved.y1, u.dtype));
  // Where no event said that the state is at rest there is no such derivative.
  const Array adjoint = where(kept.event >= 0, solution, std::numeric_limits<double>::quiet_NaN());
  const Arrays dx = pullback(like(negative(adjoint), y));

  Inputs in;
  in.y0 = zeros_of(kept.inputs.y0);
  Reader found(dx);
  found.take(y.size());
  for (const Arrays& captured : own)
    for (const Array& c : captured)
      in.captured.push_back(is_float(c.dtype()) ? found.next() : Array::hole());
  // What says that it rests is no part of the equation.
  for (const OpenField& f : u.conditions)
    for (const Array& c : reader.take(f.captures.size()))
      in.captured.push_back(is_float(c.dtype()) ? zeros_like(c) : Array::hole());
  in.times = zeros_of(kept.inputs.times);
  return in;
}

}  // namespace gnomon::ode::detail
