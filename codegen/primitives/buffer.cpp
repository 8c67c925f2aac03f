// codegen/primitives/buffer.cpp -- the table entry of buffer.
#include "codegen/primitives/buffer.h"

#include "codegen/primitives/families.h"

namespace gnomon {
namespace {

Aval aval_of(const Params& params) {
  const auto& p = params.as<BufferParams>();
  return {p.dtype, p.shape};
}

}  // namespace

const Primitive buffer_p{
    .name = "buffer",
    .parse = parse_params<BufferParams>,
    .shape =
        [](const Params& params, std::span<const Aval> in, Loc loc) {
          rules::require_operands("buffer", in, 0, loc);
          return std::vector<Aval>{aval_of(params)};
        },
    .jvp = rules::zero_tangents,
    .transpose = rules::not_linear<buffer_p>,
    .batch =
        [](const Params& params, const Arrays&, const BatchAxes&, Dim) {
          return Batched{emit(buffer_p, params, {}, {}), {std::nullopt}};
        },
    .lower = Lowering::expanded([](const Params& params, const Arrays&, const Target&, Loc loc) {
      return Arrays{lax::full(aval_of(params), 0, loc)};
    }),
    .reference =
        [](const Params&, std::span<const Aval> out, std::span<const HostArray>) {
          return std::vector<HostArray>{HostArray(out[0])};
        },
};

}  // namespace gnomon
