// tests/oracle/table_shape.cpp -- making, moving, joining and converting arrays: loops written from
// the definitions.
#include <cstring>

#include "gnomon/arrange.h"
#include "gnomon/indexing.h"
#include "gnomon/masks.h"
#include "gnomon/numeric.h"
#include "rows.h"

namespace oracle {
namespace {

constexpr DType f32 = DType::f32;

Number power_of(Number base, Number x) { return std::pow(base, x); }

}  // namespace

// Rows are laid out as those of tables.
// clang-format off
Family shapes() {
  return {.name = "Shapes", .general = {
      {"reshape", any, {in({2, 6})}, [](A x) -> Results { return gn::reshape(x[0], {3, -1}); },
       [](T x) -> Exacts { return like(x, {3, 4}, [&](I i) { return x[0].v[static_cast<std::size_t>(4 * i[0] + i[1])]; }); }, moves},
      {"ravel", any, {in({2, 3})}, [](A x) -> Results { return gn::ravel(x[0]); },
       [](T x) -> Exacts { return like(x, {6}, [&](I i) { return x[0](i[0] / 3, i[0] % 3); }); }, moves},
      {"transpose(Operand)", any, {in({2, 3, 4})}, [](A x) -> Results { return gn::transpose(x[0]); },
       [](T x) -> Exacts { return like(x, {4, 3, 2}, [&](I i) { return x[0](i[2], i[1], i[0]); }); }, moves},
      {"transpose(Operand,vector<int>)", any, {in({2, 3, 4})}, [](A x) -> Results { return gn::transpose(x[0], {2, 0, 1}); },
       [](T x) -> Exacts { return like(x, {4, 2, 3}, [&](I i) { return x[0](i[1], i[2], i[0]); }); }, moves},
      {"swapaxes", any, {in({2, 3, 4})}, [](A x) -> Results { return gn::swapaxes(x[0], 0, -1); },
       [](T x) -> Exacts { return like(x, {4, 3, 2}, [&](I i) { return x[0](i[2], i[1], i[0]); }); }, moves},
      {"moveaxis", any, {in({2, 3, 4})}, [](A x) -> Results { return gn::moveaxis(x[0], 0, -1); },
       [](T x) -> Exacts { return like(x, {3, 4, 2}, [&](I i) { return x[0](i[2], i[0], i[1]); }); }, moves},
      {"expand_dims", any, {in({2, 3})}, [](A x) -> Results { return {gn::expand_dims(x[0], 1), gn::expand_dims(x[0], -1)}; },
       [](T x) -> Exacts { return {like(x, {2, 1, 3}, [&](I i) { return x[0](i[0], i[2]); }),
                                   like(x, {2, 3, 1}, [&](I i) { return x[0](i[0], i[1]); })}; }, moves},
      {"squeeze", any, {in({1, 3, 1})}, [](A x) -> Results { return {gn::squeeze(x[0]), gn::squeeze(x[0], 2)}; },
       [](T x) -> Exacts { return {like(x, {3}, [&](I i) { return x[0](0, i[0], 0); }),
                                   like(x, {1, 3}, [&](I i) { return x[0](0, i[1], 0); })}; }, moves},
      {"broadcast_to", any, {in({3, 1})}, [](A x) -> Results { return gn::broadcast_to(x[0], {2, 3, 4}); },
       [](T x) -> Exacts { return like(x, {2, 3, 4}, [&](I i) { return x[0](i[1], 0); }); }, moves},
      {"flip", any, {in({2, 3})}, [](A x) -> Results { return {gn::flip(x[0]), gn::flip(x[0], 1)}; },
       [](T x) -> Exacts { return {like(x, {2, 3}, [&](I i) { return x[0](1 - i[0], 2 - i[1]); }),
                                   like(x, {2, 3}, [&](I i) { return x[0](i[0], 2 - i[1]); })}; }, moves},
      {"flipud fliplr", any, {in({2, 3})}, [](A x) -> Results { return {gn::flipud(x[0]), gn::fliplr(x[0])}; },
       [](T x) -> Exacts { return {like(x, {2, 3}, [&](I i) { return x[0](1 - i[0], i[1]); }),
                                   like(x, {2, 3}, [&](I i) { return x[0](i[0], 2 - i[1]); })}; }, moves},
      {"roll(Operand,Dim,int)", any, {in({2, 5})}, [](A x) -> Results { return {gn::roll(x[0], 2, 1), gn::roll(x[0], -7, -1)}; },
       [](T x) -> Exacts { return {like(x, {2, 5}, [&](I i) { return x[0](i[0], modulo(i[1] - 2, 5)); }),
                                   like(x, {2, 5}, [&](I i) { return x[0](i[0], modulo(i[1] + 7, 5)); })}; }, moves},
      {"roll(Operand,Dim)", any, {in({2, 3})}, [](A x) -> Results { return gn::roll(x[0], 4); },
       [](T x) -> Exacts { return like(x, {2, 3}, [&](I i) { return x[0].v[static_cast<std::size_t>(modulo(3 * i[0] + i[1] - 4, 6))]; }); }, moves},
      {"roll(Operand,vector<Dim>,vector<int>)", any, {in({3, 4})}, [](A x) -> Results { return gn::roll(x[0], {1, -2}, {0, 1}); },
       [](T x) -> Exacts { return like(x, {3, 4}, [&](I i) { return x[0](modulo(i[0] - 1, 3), modulo(i[1] + 2, 4)); }); }, moves},
      {"rot90", any, {in({2, 3})}, [](A x) -> Results { return {gn::rot90(x[0]), gn::rot90(x[0], 3), gn::rot90(x[0], 2)}; },
       [](T x) -> Exacts { return {like(x, {3, 2}, [&](I i) { return x[0](i[1], 2 - i[0]); }),
                                   like(x, {3, 2}, [&](I i) { return x[0](1 - i[1], i[0]); }),
                                   like(x, {2, 3}, [&](I i) { return x[0](1 - i[0], 2 - i[1]); })}; }, moves},
      {"concatenate", any, {in({2, 3}), in({2, 1}), in({2, 2})}, [](A x) -> Results { return gn::concatenate(x, 1); },
       [](T x) -> Exacts { return like(x, {2, 6}, [&](I i) { return i[1] < 3 ? x[0](i[0], i[1]) : i[1] < 4 ? x[1](i[0], 0) : x[2](i[0], i[1] - 4); }); }, moves},
      {"stack", any, {in({2, 3}), in({2, 3})}, [](A x) -> Results { return {gn::stack(x), gn::stack(x, -1)}; },
       [](T x) -> Exacts { return {like(x, {2, 2, 3}, [&](I i) { return x[static_cast<std::size_t>(i[0])](i[1], i[2]); }),
                                   like(x, {2, 3, 2}, [&](I i) { return x[static_cast<std::size_t>(i[2])](i[0], i[1]); })}; }, moves},
      {"split", any, {in({2, 6})}, [](A x) -> Results { return gn::split(x[0], 3, 1); },
       [](T x) -> Exacts { Tensors r; for (Dim p = 0; p < 3; ++p) r.push_back(like(x, {2, 2}, [&](I i) { return x[0](i[0], 2 * p + i[1]); })); return r; }, moves},
      {"array_split(Operand,int,int)", any, {in({7})}, [](A x) -> Results { return gn::array_split(x[0], 3); },
       [](T x) -> Exacts { return {like(x, {3}, [&](I i) { return x[0](i[0]); }), like(x, {2}, [&](I i) { return x[0](3 + i[0]); }),
                                   like(x, {2}, [&](I i) { return x[0](5 + i[0]); })}; }, moves},
      {"array_split(Operand,vector<Dim>,int)", any, {in({2, 6})}, [](A x) -> Results { return gn::array_split(x[0], std::vector<Dim>{1, 4}, 1); },
       [](T x) -> Exacts { return {like(x, {2, 1}, [&](I i) { return x[0](i[0], 0); }), like(x, {2, 3}, [&](I i) { return x[0](i[0], 1 + i[1]); }),
                                   like(x, {2, 2}, [&](I i) { return x[0](i[0], 4 + i[1]); })}; }, moves},
      {"hsplit", any, {in({2, 4})}, [](A x) -> Results { return gn::hsplit(x[0], 2); },
       [](T x) -> Exacts { return {like(x, {2, 2}, [&](I i) { return x[0](i[0], i[1]); }), like(x, {2, 2}, [&](I i) { return x[0](i[0], 2 + i[1]); })}; }, moves},
      {"vsplit", any, {in({4, 2})}, [](A x) -> Results { return gn::vsplit(x[0], 2); },
       [](T x) -> Exacts { return {like(x, {2, 2}, [&](I i) { return x[0](i[0], i[1]); }), like(x, {2, 2}, [&](I i) { return x[0](2 + i[0], i[1]); })}; }, moves},
      {"dsplit", any, {in({1, 2, 4})}, [](A x) -> Results { return gn::dsplit(x[0], 2); },
       [](T x) -> Exacts { return {like(x, {1, 2, 2}, [&](I i) { return x[0](0, i[1], i[2]); }), like(x, {1, 2, 2}, [&](I i) { return x[0](0, i[1], 2 + i[2]); })}; }, moves},
      {"hstack vstack dstack column_stack", any, {in({3}), in({3})}, [](A x) -> Results { return {gn::hstack(x), gn::vstack(x), gn::dstack(x), gn::column_stack(x)}; },
       [](T x) -> Exacts { const auto part = [&](Dim k) -> const Tensor& { return x[static_cast<std::size_t>(k)]; };
                           return {like(x, {6}, [&](I i) { return part(i[0] / 3)(i[0] % 3); }), like(x, {2, 3}, [&](I i) { return part(i[0])(i[1]); }),
                                   like(x, {1, 3, 2}, [&](I i) { return part(i[2])(i[1]); }), like(x, {3, 2}, [&](I i) { return part(i[1])(i[0]); })}; }, moves},
      {"pad(Operand,vector<PadWidths>,Operand)", any, {in({2, 4})}, [](A x) -> Results { return gn::pad(x[0], {{1, 0}, {2, -1}}, 1); },
       [](T x) -> Exacts { return like(x, {3, 5}, [&](I i) { return i[0] < 1 || i[1] < 2 ? 1.0L : x[0](i[0] - 1, i[1] - 2); }); }, moves},
      {"pad(Operand,vector<PadWidths>,Operand)", floats, {in({2, 4}), in({})}, [](A x) -> Results { return {gn::pad(x[0], {{1, 2, 3}, {-1, -2, 1}}, x[1]), gn::pad(x[0], {{-3, 0, 4}, {0, 0, 2}}, x[1]), gn::pad(x[0], {{0, 0, 0}, {.low = -9, .high = 12, .interior = 2}}, x[1])}; },
       [](T x) -> Exacts { const auto f = [&](const Shape& s, Dim low0, Dim step0, Dim low1, Dim step1) { return like(x, s, [&, low0, step0, low1, step1](I i) { const Dim r = i[0] - low0, c = i[1] - low1; return r < 0 || c < 0 || r % step0 != 0 || c % step1 != 0 || r / step0 > 1 || c / step1 > 3 ? x[1].v[0] : x[0](r / step0, c / step1); }); };
                           return {f({8, 4}, 1, 4, -1, 2), f({3, 10}, -3, 5, 0, 3), f({2, 13}, 0, 1, -9, 3)}; }, moves},
      {"pad(Operand,vector<P>,Operand)", any, {in({2, 4})}, [](A x) -> Results { const std::vector<std::pair<Dim, Dim>> w{{1, 0}, {2, -1}}; return gn::pad(x[0], w); },
       [](T x) -> Exacts { return like(x, {3, 5}, [&](I i) { return i[0] < 1 || i[1] < 2 ? 0.0L : x[0](i[0] - 1, i[1] - 2); }); }, moves},
      {"slice", any, {in({3, 7})}, [](A x) -> Results { return gn::slice(x[0], {1, 0}, {3, -1}, {1, 2}); },
       [](T x) -> Exacts { return like(x, {2, 3}, [&](I i) { return x[0](1 + i[0], 2 * i[1]); }); }, moves},
      {"slice_axis", any, {in({3, 7})}, [](A x) -> Results { return gn::slice_axis(x[0], 1, -5, 7, 2); },
       [](T x) -> Exacts { return like(x, {3, 3}, [&](I i) { return x[0](i[0], 2 + 2 * i[1]); }); }, moves},
      {"diagonal", any, {in({3, 4, 2})}, [](A x) -> Results { return {gn::diagonal(x[0], 1), gn::diagonal(x[0], -1, 0, 2)}; },
       [](T x) -> Exacts { return {like(x, {2, 3}, [&](I i) { return x[0](i[1], i[1] + 1, i[0]); }), like(x, {4, 2}, [&](I i) { return x[0](i[1] + 1, i[0], i[1]); })}; }, moves},
      {"diag", any, {in({3}), in({3, 3})}, [](A x) -> Results { return {gn::diag(x[0], -1), gn::diag(x[1], 1)}; },
       [](T x) -> Exacts { return {like(x, {4, 4}, [&](I i) { return i[0] == i[1] + 1 ? x[0](i[1]) : 0; }), like(x, {2}, [&](I i) { return x[1](i[0], i[0] + 1); })}; }, moves},
      {"trace", floats, {in({3, 4})}, [](A x) -> Results { return gn::trace(x[0], 1); },
       [](T x) -> Exacts { return scaled(like(x, {}, [&](I) { return x[0](0, 1) + x[0](1, 2) + x[0](2, 3); }), 6); }, {.ulps = 2, .differentiate = true}},
      {"tril triu", any, {in({2, 3, 3})}, [](A x) -> Results { return {gn::tril(x[0], -1), gn::triu(x[0], 1)}; },
       [](T x) -> Exacts { return {like(x, {2, 3, 3}, [&](I i) { return i[2] <= i[1] - 1 ? x[0].at(i) : 0; }), like(x, {2, 3, 3}, [&](I i) { return i[2] >= i[1] + 1 ? x[0].at(i) : 0; })}; }, moves},
      {"kron", floats, {in({2, 2}), in({3})}, [](A x) -> Results { return gn::kron(x[0], x[1]); },
       [](T x) -> Exacts { return like(x, {2, 6}, [&](I i) { return x[0](i[0], i[1] / 3) * x[1](i[1] % 3); }); }, {.ulps = 0.5, .differentiate = true}},
      {"tile", any, {in({2, 2})}, [](A x) -> Results { return gn::tile(x[0], {2, 1, 3}); },
       [](T x) -> Exacts { return like(x, {2, 2, 6}, [&](I i) { return x[0](i[1], i[2] % 2); }); }, moves},
      {"repeat(Operand,Dim,optional<int>)", any, {in({2, 3})}, [](A x) -> Results { return {gn::repeat(x[0], 2, 1), gn::repeat(x[0], 2)}; },
       [](T x) -> Exacts { return {like(x, {2, 6}, [&](I i) { return x[0](i[0], i[1] / 2); }), like(x, {12}, [&](I i) { return x[0].v[static_cast<std::size_t>(i[0] / 2)]; })}; }, moves},
      {"repeat(Operand,vector<Dim>,optional<int>)", any, {in({3})}, [](A x) -> Results { return gn::repeat(x[0], std::vector<Dim>{2, 0, 3}); },
       [](T x) -> Exacts { return like(x, {5}, [&](I i) { return x[0](i[0] < 2 ? 0 : 2); }); }, moves},
      {"meshgrid", any, {in({2}), in({3})}, [](A x) -> Results { auto r = gn::meshgrid(x); const auto s = gn::meshgrid(x, {.matrix = true}); r.insert(r.end(), s.begin(), s.end()); return r; },
       [](T x) -> Exacts { return {like(x, {3, 2}, [&](I i) { return x[0](i[1]); }), like(x, {3, 2}, [&](I i) { return x[1](i[0]); }),
                                   like(x, {2, 3}, [&](I i) { return x[0](i[0]); }), like(x, {2, 3}, [&](I i) { return x[1](i[1]); })}; }, moves},
      {"select", numbers, {mask({4}), mask({4}), in({4}), in({4})}, [](A x) -> Results { return gn::select({x[0], x[1]}, {x[2], x[3]}); },
       [](T x) -> Exacts { return made(x[2].dtype, {4}, [&](I i) { return x[0].at(i) != 0 ? x[2].at(i) : x[1].at(i) != 0 ? x[3].at(i) : 0; }); }, moves},
      {"where", any, {mask({2, 3}), in({3}), in({2, 1})}, [](A x) -> Results { return gn::where(x[0], x[1], x[2]); },
       [](T x) -> Exacts { return made(x[1].dtype, {2, 3}, [&](I i) { return x[0].at(i) != 0 ? x[1](i[1]) : x[2](i[0], 0); }); }, moves},
      {"choose", any, {whole({6}, -3, 6), in({6}), in({6})}, [](A x) -> Results { return {gn::choose(x[0], {x[1], x[2]}), gn::choose(x[0], {x[1], x[2]}, gn::ChooseMode::wrap)}; },
       [](T x) -> Exacts { const auto of = [&](Dim k, I i) { return x[1 + static_cast<std::size_t>(k)].at(i); };
                           return {made(x[1].dtype, {6}, [&](I i) { return of(std::clamp<Dim>(static_cast<Dim>(x[0].at(i)), 0, 1), i); }),
                                   made(x[1].dtype, {6}, [&](I i) { return of(modulo(static_cast<Dim>(x[0].at(i)), 2), i); })}; }, moves},
  }};
}

Family making() {
  return {.name = "Making", .general = {
      {"zeros ones zeros_like ones_like full_like", any, {in({2, 2})},
       [](A x) -> Results { const DType t = x[0].dtype(); return {gn::zeros({2, 2}, t), gn::ones({2, 2}, t), gn::zeros_like(x[0]), gn::ones_like(x[0]), gn::full_like(x[0], 1)}; },
       [](T x) -> Exacts { const auto c = [&](Number v) { return like(x, {2, 2}, [v](I) { return v; }); }; return {c(0), c(1), c(0), c(1), c(1)}; }},
      {"full(Shape,Operand)", single, {}, [](A) -> Results { return {gn::full({2}, 0.1), gn::full({2}, 7), gn::full({2}, true)}; },
       [](T) -> Exacts { return {made(f32, {2}, [](I) { return 0.1L; }), i32({2}, [](I) { return 7; }), truth({2}, [](I) { return 1; })}; }, {.ulps = 0.5}},
      {"full(Shape,Operand,DType)", floats, {in({1})}, [](A x) -> Results { return {gn::full({2}, 0.1, x[0].dtype()), gn::full({1}, x[0].dtype() == f32 ? 1e30 : 1e300, x[0].dtype())}; },
       [](T x) -> Exacts { return {like(x, {2}, [](I) { return Number(0.1); }), like(x, {1}, [&](I) { return Number(x[0].dtype == f32 ? 1e30 : 1e300); })}; }, {.ulps = 0.5}},
      {"full(Shape,Operand,DType)", single, {}, [](A) -> Results { return {gn::full({1}, 3000000000u, DType::u32), gn::full({1}, std::int64_t{1} << 40, DType::i64), gn::full({1}, (std::uint64_t{1} << 63) + 1, DType::u64), gn::full({1}, -(std::int64_t{1} << 53) - 1, DType::i64)}; },
       [](T) -> Exacts { const auto c = [](DType t, Number v) { return made(t, {1}, [v](I) { return v; }); }; return {c(DType::u32, 3000000000.0L), c(DType::i64, 0x1p40L), c(DType::u64, 0x1p63L + 1), c(DType::i64, -0x1p53L - 1)}; }},
      {"full_like", floats, {in({2})}, [](A x) -> Results { return gn::full_like(x[0], 1.0 / 3); }, [](T x) -> Exacts { return like(x, {2}, [](I) { return Number(1.0 / 3); }); }, {.ulps = 0.5}},
      {"arange(Operand) arange(Operand,DType) arange(Operand,Operand,Operand) arange(Operand,Operand,Operand,DType)", single, {}, [](A) -> Results { return {gn::arange(5), gn::arange(2, 11, 3), gn::arange(0, 1, 0.25), gn::arange(5, 0, -2)}; },
       [](T) -> Exacts { return {i32({5}, [](I i) { return i[0]; }), i32({3}, [](I i) { return 2 + 3 * i[0]; }), made(f32, {4}, [](I i) { return 0.25L * i[0]; }), i32({3}, [](I i) { return 5 - 2 * i[0]; })}; }, {.ulps = 0.5}},
      {"linspace(double,double,Dim)", single, {}, [](A) -> Results { return {gn::linspace(-1, 2, 7), gn::linspace(3, 4, 1)}; },
       [](T) -> Exacts { return {scaled(made(f32, {7}, [](I i) { return -1 + 0.5L * i[0]; }), 2), made(f32, {1}, [](I) { return 3; })}; }, {.ulps = 2}},
      {"linspace(double,double,Dim,LinspaceOptions)", floats, {in({1})}, [](A x) -> Results { return gn::linspace(-1, 2, 10, {.endpoint = false, .dtype = x[0].dtype()}); },
       [](T x) -> Exacts { return scaled(like(x, {10}, [](I i) { return -1 + 3 * Number(i[0]) / 10; }), 2); }, {.ulps = 1}},
      {"logspace", floats, {in({1})}, [](A x) -> Results { return gn::logspace(-2, 3, 6, 10, {.dtype = x[0].dtype()}); },
       [](T x) -> Exacts { return like(x, {6}, [](I i) { return power_of(10, Number(i[0]) - 2); }); }, {.ulps = 16}},
      {"geomspace", floats, {in({1})}, [](A x) -> Results { return gn::geomspace(1, 1000, 7, {.dtype = x[0].dtype()}); },
       [](T x) -> Exacts { return like(x, {7}, [](I i) { return power_of(10, Number(i[0]) / 2); }); }, {.ulps = 16}},
      {"iota", numbers, {in({1})}, [](A x) -> Results { return gn::iota({2, 3}, 1, x[0].dtype()); }, [](T x) -> Exacts { return like(x, {2, 3}, [](I i) { return i[1]; }); }},
      {"eye(Dim,optional<Dim>,DType)", any, {in({1})}, [](A x) -> Results { return gn::eye(2, 3, x[0].dtype()); }, [](T x) -> Exacts { return like(x, {2, 3}, [](I i) { return i[0] == i[1]; }); }},
      {"eye(Dim,DType)", any, {in({1})}, [](A x) -> Results { return gn::eye(3, x[0].dtype()); }, [](T x) -> Exacts { return like(x, {3, 3}, [](I i) { return i[0] == i[1]; }); }},
      {"array(vector<T>,DType) array(initializer_list<T>,DType)", any, {in({1})}, [](A x) -> Results { return gn::array({1, 0, 1}, x[0].dtype()); }, [](T x) -> Exacts { return like(x, {3}, [](I i) { return i[0] != 1; }); }},
      {"array(vector<T>) array(initializer_list<T>)", single, {}, [](A) -> Results { return {gn::array({1.5, -0.1}), gn::array(std::vector<int>{3, -4}), gn::array({true, false})}; },
       [](T) -> Exacts { return {made(f32, {2}, [](I i) { return i[0] == 0 ? 1.5L : -0.1L; }), i32({2}, [](I i) { return i[0] == 0 ? 3 : -4; }), truth({2}, [](I i) { return i[0] == 0; })}; }, {.ulps = 0.5}},
      {"indices", single, {}, [](A) -> Results { return gn::indices({2, 3}); }, [](T) -> Exacts { return i32({2, 2, 3}, [](I i) { return i[0] == 0 ? i[1] : i[2]; }); }},
      {"one_hot", single, {whole({5}, -2, 5)}, [](A x) -> Results { return gn::one_hot(x[0], 3); },
       [](T x) -> Exacts { return made(f32, {5, 3}, [&](I i) { return x[0](i[0]) == i[1]; }); }},
      {"first_valid(Operand,Dim)", single, {whole({}, 3, 4)}, [](A x) -> Results { return {gn::first_valid(x[0], 5), gn::first_valid(-2, 3)}; },
       [](T) -> Exacts { return {truth({5}, [](I i) { return i[0] < 3; }), truth({3}, [](I) { return 0; })}; }},
      {"cast astype", numbers, {in({9}, Draw::numbers, -30, 30)},
       [](A x) -> Results { return {gn::cast(x[0], DType::i32), gn::astype(x[0], f32), gn::cast(x[0], DType::boolean), gn::cast(x[0], DType::i64)}; },
       [](T x) -> Exacts { const auto c = [&](DType t) { return made(t, {9}, [&](I i) { const Number v = x[0].at(i); return t == DType::boolean ? v != 0 : t == f32 ? v : std::trunc(v); }); };
                           return {c(DType::i32), c(f32), c(DType::boolean), c(DType::i64)}; }, {.ulps = 0.5}},
      {"cast", all_integers, {in({12}, Draw::numbers, -3e9, 3e9)},
       [](A x) -> Results { Arrays r; for (const DType t : all_integers) r.push_back(gn::cast(x[0], t)); return r; },
       [](T x) -> Exacts { Tensors r; for (const DType t : all_integers) r.push_back(made(t, {12}, [&](I i) { return static_cast<Number>(type_of(t).wrapped(static_cast<Int>(x[0].at(i)))); })); return r; }},
      {"bitcast", single, {in({3})}, [](A x) -> Results { return {gn::bitcast(x[0], DType::u32), gn::bitcast(x[0], DType::u8), gn::bitcast(gn::bitcast(x[0], DType::u8), f32), gn::bitcast(x[0], DType::i16)}; },
       [](T x) -> Exacts {
         const auto bits = [&](Dim i) { const auto f = static_cast<float>(x[0](i)); std::uint32_t b = 0; std::memcpy(&b, &f, 4); return b; };
         return {made(DType::u32, {3}, [&](I i) { return bits(i[0]); }), made(DType::u8, {3, 4}, [&](I i) { return bits(i[0]) >> (8 * i[1]) & 255; }),
                 x[0], made(DType::i16, {3, 2}, [&](I i) { return static_cast<std::int16_t>(bits(i[0]) >> (16 * i[1])); })}; }},
  }};
}
// clang-format on

}  // namespace oracle
