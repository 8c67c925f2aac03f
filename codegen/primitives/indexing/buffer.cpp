// codegen/primitives/indexing/buffer.cpp -- the table entries of buffer and unwritten.
#include "codegen/operations/buffer.h"

#include "codegen/primitives/families.h"

namespace gnomon {
namespace {

Aval aval_of(const Params& params) {
  const auto& p = params.as<BufferParams>();
  return {p.dtype, p.shape};
}

template <const Primitive& P>
constexpr Primitive entry(std::string_view name, Lowering lower) {
  return {
      .name = name,
      .parse = parse_params<BufferParams>,
      .shape =
          [](const Params& params, std::span<const Aval> in, Loc loc) {
            rules::require_operands(P.name, in, 0, loc);
            return std::vector<Aval>{aval_of(params)};
          },
      .jvp = rules::zero_tangents,
      .transpose = rules::not_linear<P>,
      .batch =
          [](const Params& params, const Arrays&, const BatchAxes&, Dim) {
            return Batched{emit(P, params, {}, {}), {std::nullopt}};
          },
      .lower = lower,
      .reference =
          [](const Params&, std::span<const Aval> out, std::span<const HostArray>) {
            return std::vector<HostArray>{HostArray(out[0])};
          },
  };
}

}  // namespace

const Primitive buffer_p = entry<buffer_p>(
    "buffer", Lowering::expanded([](const Params& params, const Arrays&, const Target&, Loc loc) {
      return Arrays{lax::full(aval_of(params), 0, loc)};
    }));
const Primitive unwritten_p = entry<unwritten_p>(
    "unwritten",
    Lowering::per_element([](ElementContext& c, const Params& params, std::size_t, const Index&) {
      return c.k.constant({params.as<BufferParams>().dtype}, 0);
    }));

}  // namespace gnomon
