// codegen/emit/frame_sums.cpp -- products that are summed up while the vector they sum over is
// computed.
#include "codegen/emit/emitter.h"
#include "codegen/operations/control.h"
#include "codegen/operations/op_params.h"
#include "codegen/operations/table.h"

namespace gnomon {

using kernel::Value;
using kernel::Values;

namespace {

/// Sums that a loop carries along; each stays in registers, of several lanes where an invocation
/// holds some.
constexpr Dim most_sums = 8;

}  // namespace

std::optional<Frame::Summed> Frame::summed_by(const Equation& e) const {
  if (base_depth_ == 0 || e_.team != nullptr || e.primitive != &dot_general_p) return {};
  const auto& p = e.params.as<DotParams>();
  if (!p.lhs_batch.empty() || p.lhs_contracting.size() != 1 || e.inputs[0] == e.inputs[1])
    return {};
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    Summed s;
    s.vector = e.inputs[side];
    s.matrix = e.inputs[1 - side];
    s.axis = (side == 0 ? p.lhs_contracting : p.rhs_contracting)[0];
    s.matrix_axis = (side == 0 ? p.rhs_contracting : p.lhs_contracting)[0];
    const Shape &vector = graph_.avals[s.vector].shape, &matrix = graph_.avals[s.matrix].shape,
                &out = graph_.avals[e.outputs[0]].shape;
    const bool of_lanes = vector.rank() == 2;
    if (vector.rank() > 2 || matrix.rank() > 2) continue;
    if (of_lanes && (!e_.lane.valid() || !e_.pins || vector[1 - s.axis] != e_.lanes)) continue;
    s.pinned = !of_lanes ? -1 : side == 0 ? 0 : out.rank() - 1;
    // Computed here, element by element, into what would be an array; nobody else reads it, save
    // who stores each element as it is computed.
    const std::uint32_t producer = uses_->producer[s.vector];
    if (producer == Uses::none || tiles_.contains(s.vector) || sources_.contains(s.vector))
      continue;
    const Lowering& rule = graph_.equations[producer].primitive->lower;
    if (rule.kind != Lowering::Kind::element || rule.cost == Cost::view) continue;
    if (uses_->count[s.vector] != (also_.contains(s.vector) ? 2u : 1u)) continue;
    if (vector[s.axis] <= e_.scalar_limit) continue;
    // The lanes share the matrix, and there are few sums.
    if (uses_->producer[s.matrix] != Uses::none || holds(s.matrix)) continue;
    if (matrix.rank() == 2 &&
        (matrix[1 - s.matrix_axis] > most_sums || matrix[1 - s.matrix_axis] == e_.lanes))
      continue;
    return s;
  }
  return {};
}

const Equation* Frame::sums_of(ValueId v) const {
  for (const Equation& e : graph_.equations)
    if (const auto s = summed_by(e); s && s->vector == v) return &e;
  return nullptr;
}

void Frame::sum_while_computing(const Equation& e) {
  const Summed s = *summed_by(e);
  const Equation& producer = graph_.equations[uses_->producer[s.vector]];
  const Shape &vector = graph_.avals[s.vector].shape, &matrix = graph_.avals[s.matrix].shape;
  const ValueId out = e.outputs[0];
  auto& k = e_.k;
  const auto also = also_.find(s.vector);
  k.at_depth(base_depth_, [&] {
    Tile sums;
    sums.kind = Tile::Kind::elements;
    sums.dtype = graph_.avals[out].dtype;
    sums.shape = graph_.avals[out].shape;
    sums.pinned = s.pinned;
    const Dim length = vector[s.axis], each = e_.elements_of_trip(length, neighbours(s.vector));
    const auto trips = static_cast<std::uint32_t>(length / each);
    const auto add = [&](Value j, Values sum) {
      Values at{j};
      if (vector.rank() == 2) at.insert(s.axis == 0 ? at.end() : at.begin(), e_.lane);
      const Index position = Index::coordinates(vector, std::move(at));
      const Value x = rule(s.vector, producer, position);
      if (also != also_.end()) also->second(position, x);
      for (std::uint32_t i = 0; i < sum.size(); ++i) {
        Values from{j};
        if (matrix.rank() == 2)
          from.insert(s.matrix_axis == 0 ? from.end() : from.begin(), k.u32(i));
        const Value y = element(s.matrix, Index::coordinates(matrix, std::move(from)));
        sum[i] = k.multiply_add(x, y, sum[i]);
      }
      return sum;
    };
    const Values zeros(static_cast<std::size_t>(sums.count()), k.number(sums.dtype, 0));
    sums.elements =
        k.count_loop(k.u32(trips), trips, zeros, [&](Value trip, std::span<const Value> so_far) {
          Values sum(so_far.begin(), so_far.end());
          const Value first = k.mul(trip, k.u32(static_cast<std::uint32_t>(each)));
          for (std::uint32_t i = 0; i < each; ++i)
            sum = add(k.add(first, k.u32(i)), std::move(sum));
          return sum;
        });
    if (also != also_.end()) also_.erase(also);
    tiles_[out] = std::move(sums);
  });
}

}  // namespace gnomon
