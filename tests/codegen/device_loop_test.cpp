// tests/codegen/device_loop_test.cpp -- loops whose iterations are several kernels: results, and
// what is written in place.
#include "gnomon/control.h"
#include "gnomon/indexing.h"
#include "gnomon/ops.h"
#include "tests/support/lowering.h"

namespace gnomon {
namespace {

using namespace testing;

template <class F, class... A>
Program on_device(F f, const A&... inputs) {
  const Graph g = [&] {
    Trace outer;
    return trace(f, outer.input(inputs)...).graph;
  }();
  return compile(g, Target::gpu_like(),
                 {.name = "test", .loops = LoopMapping::device, .keep_text = true});
}

std::size_t copies(const Program& p) {
  return static_cast<std::size_t>(std::count_if(p.steps.begin(), p.steps.end(), [](const Step& s) {
    return s.kind == Step::Kind::copy;
  }));
}

TEST(DeviceLoop, CarriesThatMixTheirLanesLieInTwoPlacesByTurns) {
  for (const int trips : {0, 1, 2, 5, 40, 41}) {
    const auto f = [&](const Array& x) {
      return fori_loop(
          0, trips, [](Array i, Array v) { return v * 0.5f + flip(v) + cast(i, DType::f32); }, x);
    };
    expect_function_lowers(f, f32({100}));
    const Program p = on_device(f, f32({100}));
    if (trips == 0) continue;
    ASSERT_EQ(p.loops.size(), 1u) << p.fusion_text << print(p);
    EXPECT_EQ(p.loops[0].phases.size(), trips > 1 ? 2u : 1u);
    EXPECT_EQ(p.loops[0].advance.has_value(), trips > 32);
  }
}

TEST(DeviceLoop, ElementwiseCarriesAreOverwritten) {
  const auto f = [](const Array& x, const Array& y) {
    return fori_loop(
        3, 10,
        [&](Array i, std::pair<Array, Array> s) {
          const Array total = sum(s.first * y);
          return std::pair{s.first * 0.5f + y * total, s.second + cast(i, DType::f32) * total};
        },
        std::pair{x * 2, x});
  };
  expect_function_lowers(f, f32({50}), f32({50}));
  const Program p = on_device(f, f32({50}), f32({50}));
  ASSERT_EQ(p.loops.size(), 1u);
  EXPECT_EQ(p.loops[0].phases.size(), 1u) << p.fusion_text << print(p);
}

TEST(DeviceLoop, SlicesAreWrittenInPlace) {
  const auto f = [](const Array& x) {
    return fori_loop(
        0, 9,
        [](Array i, Array a) {
          const Array row = a[i];
          a = at_set(a, i + 1, row * 0.5f + 1);
          return at_set(a, i, row + a[0]);
        },
        x);
  };
  expect_function_lowers(f, f32({12, 40}));
  const Program p = on_device(f, f32({12, 40}));
  ASSERT_EQ(p.loops.size(), 1u);
  EXPECT_EQ(p.loops[0].phases.size(), 1u) << p.fusion_text << print(p);
  EXPECT_EQ(copies(p), 1u) << "only into the loop\n" << print(p);
}

TEST(DeviceLoop, ScansReadAndStackRows) {
  for (const bool reverse : {false, true}) {
    const auto f = [&](const Array& xs, const Array& k) {
      return scan(
          [&](Array c, Array x) {
            const Array next = c * 0.5f + flip(x) * k;
            return std::pair{next, std::pair{sum(next), next + x}};
          },
          k, xs, {.reverse = reverse});
    };
    expect_function_lowers(f, f32({37, 20}), f32({20}));
    const Program p = on_device(f, f32({37, 20}), f32({20}));
    ASSERT_EQ(p.loops.size(), 1u);
    EXPECT_LE(copies(p), 1u) << print(p);
  }
}

TEST(DeviceLoop, LoopsNest) {
  const auto f = [](const Array& x) {
    return fori_loop(
        0, 5,
        [](Array i, Array v) {
          return fori_loop(
              0, 7,
              [&](Array j, Array u) {
                return u * 0.25f + flip(u) * cast(i + j, DType::f32) * 0.01f;
              },
              v + 1);
        },
        x);
  };
  expect_function_lowers(f, f32({30}));
  EXPECT_GE(on_device(f, f32({30})).loops.size(), 2u);
}

TEST(DeviceLoop, ValuesThatChangePlaces) {
  const auto f = [](const Array& x, const Array& y) {
    return fori_loop(
        0, 6,
        [&](Array, std::pair<Array, Array> s) {
          return std::pair{s.second, s.first + s.second * 0.5f};
        },
        std::pair{x, y});
  };
  expect_function_lowers(f, f32({30}), f32({30}));
  const auto both = [](const Array& x) {
    return fori_loop(
        0, 5,
        [&](Array, std::pair<Array, Array> s) {
          const Array next = flip(s.first) + s.second;
          return std::pair{next, next};
        },
        std::pair{x, x});
  };
  expect_function_lowers(both, f32({30}));
}

}  // namespace
}  // namespace gnomon
