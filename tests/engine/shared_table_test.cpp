// tests/engine/shared_table_test.cpp -- what many elements of a vmap look up in one table, and the
// derivatives of that, against loops by hand.
#include <cmath>
#include <functional>

#include "codegen/cost/device_model.h"
#include "gnomon/gnomon.h"
#include "gnomon/nn.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

using Doubles = std::vector<double>;
using Ids = std::vector<int>;
/// The elements of the table that are read, one after the other; -1 where a number is filled in.
using Places = std::vector<Dim>;

constexpr double filler = 2;
const Ids around{0, 6, 3, -1, 3, -7, 7, -8, 100, -100, 2, 5};  // of seven rows
constexpr Dim many = 12;

Doubles waves(Dim n, double from) {
  Doubles r;
  for (Dim i = 0; i < n; ++i) r.push_back(float(std::sin(from + 0.7 * double(i))));
  return r;
}

Dim clamped(Dim i, Dim last) { return std::max<Dim>(0, std::min(i, last)); }
/// Of `rows`, negative ones from the end once.
Dim nearest(Dim i, Dim rows) { return clamped(i < 0 ? i + rows : i, rows - 1); }

struct Lookup {
  std::string name;
  Shape table, ids_shape;
  Ids ids;
  std::function<Array(const Array& table, const Array& ids)> read;
  Places places;
};

class SharedTable : public DeviceTest {
 protected:
  Array up(const Doubles& x, const Shape& shape) {
    return rt.from_host(std::vector<float>(x.begin(), x.end()), shape);
  }
  Doubles down(const Array& a) {
    const std::vector<float> x = rt.to_host<float>(a);
    return {x.begin(), x.end()};
  }
  void expect_near(const Array& got, const Doubles& want, const std::string& what) {
    const Doubles x = down(got);
    ASSERT_EQ(x.size(), want.size()) << what;
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_NEAR(x[i], want[i], 1e-5 * (1 + std::fabs(want[i]))) << what << " " << i;
  }
  /// The value, and first and second derivatives of sum(c * read^2) / 2.
  void expect_right(const Lookup& l);
};

void SharedTable::expect_right(const Lookup& l) {
  const auto n = Dim(l.places.size());
  const Doubles w = waves(l.table.size(), 0), d = waves(l.table.size(), 1), c = waves(n, 2);
  Doubles value, slope(w.size(), 0), second(w.size(), 0);
  double along = 0;
  for (std::size_t i = 0; i < l.places.size(); ++i) {
    if (l.places[i] < 0) {
      value.push_back(filler);
      continue;
    }
    const auto at = static_cast<std::size_t>(l.places[i]);
    value.push_back(w[at]);
    slope[at] += c[i] * w[at];
    second[at] += c[i] * d[at];
    along += c[i] * w[at] * d[at];
  }
  const Array ids = rt.from_host(l.ids, l.ids_shape), table = up(w, l.table),
              direction = up(d, l.table), weights = up(c, {n});
  const auto loss = [&l](const Array& t, const Array& i, const Array& k) {
    return 0.5f * sum(k * square(reshape(l.read(t, i), {k.size()})));
  };
  const auto of = [loss](const Array& i, const Array& k) {
    return [=](const Array& t) { return loss(t, i, k); };
  };
  expect_near(jit(rt, l.read)(table, ids), value, l.name + ": value");
  auto slopes =
      jit(rt, [of](const Array& t, const Array& i, const Array& k) { return grad(of(i, k))(t); });
  expect_near(slopes(table, ids, weights), slope, l.name + ": grad");
  auto tangent = jit(rt, [of](const Array& t, const Array& i, const Array& k, const Array& e) {
    return jvp(of(i, k), t, e).second;
  });
  expect_near(tangent(table, ids, weights, direction), {along}, l.name + ": jvp");
  auto forward = jit(rt, [of](const Array& t, const Array& i, const Array& k, const Array& e) {
    return jvp(grad(of(i, k)), t, e).second;
  });
  expect_near(forward(table, ids, weights, direction), second, l.name + ": jvp of grad");
  auto twice = jit(rt, [of](const Array& t, const Array& i, const Array& k, const Array& e) {
    return grad([&](const Array& x) { return sum(e * grad(of(i, k))(x)); })(t);
  });
  expect_near(twice(table, ids, weights, direction), second, l.name + ": grad of grad");
}

/// Whole rows of three: those that `row` says, -1 for none.
template <class F>
Places rows_of_three(const Ids& ids, const F& row) {
  Places r;
  for (int i : ids)
    for (Dim s = 0; s < 3; ++s) r.push_back(row(i) < 0 ? -1 : 3 * row(i) + s);
  return r;
}

TEST_F(SharedTable, RowsAreReadInEveryWay) {
  const auto clip = [](Dim i) { return nearest(i, 7); };
  const auto fill = [](Dim i) { return i < 0 || i > 6 ? -1 : i; };
  const auto each = [](const auto& f) {
    return [f](const Array& t, const Array& ids) {
      return vmap([&](const Array& i) { return f(t, i); })(ids);
    };
  };
  const auto index = each([](const Array& t, const Array& i) { return t[i]; });
  const auto take_rows = each([](const Array& t, const Array& i) { return take(t, i); });
  const ReadOptions drop{.mode = ReadMode::fill, .wrap_negative = false, .fill_value = filler};
  const auto filled = each([=](const Array& t, const Array& i) { return take(t, i, 0, drop); });
  const auto at = each([=](const Array& t, const Array& i) { return t.at(i).get(drop); });
  const auto embedding = [](const Array& t, const Array& ids) {
    return vmap(nn::Embedding{t})(ids);
  };
  const Places clipped = rows_of_three(around, clip), dropped = rows_of_three(around, fill);
  expect_right({"embedding", {7, 3}, {many}, around, embedding, clipped});
  expect_right({"index", {7, 3}, {many}, around, index, clipped});
  expect_right({"several", {7, 3}, {4, 3}, around, take_rows, clipped});
  expect_right({"filled", {7, 3}, {many}, around, filled, dropped});
  expect_right({"several filled", {7, 3}, {2, 6}, around, filled, dropped});
  expect_right({"at", {7, 3}, {many}, around, at, dropped});
  expect_right({"twice", {7, 3}, {3, 4}, around, each(index), clipped});
  expect_right({"three times", {7, 3}, {2, 3, 2}, around, each(each(index)), clipped});
  expect_right({"several twice", {7, 3}, {2, 3, 2}, around, each(take_rows), clipped});
  expect_right({"one", {7, 3}, {1}, {-2}, index, {15, 16, 17}});
  expect_right({"none", {7, 3}, {0}, {}, index, {}});
  expect_right({"none of several", {7, 3}, {4, 0}, {}, take_rows, {}});
  expect_right({"of one row", {1, 3}, {2}, {-4, 4}, index, {0, 1, 2, 0, 1, 2}});
}

TEST_F(SharedTable, AxesGoWhereVmapPutsThem) {
  Lookup l{"columns", {3, 7}, {4, 3}, around, {}, {}};
  l.read = [](const Array& t, const Array& ids) {
    return vmap([&](const Array& i) { return take(t, i, 1); })(ids);
  };
  for (std::size_t lane = 0; lane < 4; ++lane)
    for (Dim row = 0; row < 3; ++row)
      for (std::size_t i = 0; i < 3; ++i)
        l.places.push_back(7 * row + nearest(around[3 * lane + i], 7));
  expect_right(l);

  l = {"last axes", {7, 3}, {3, 4}, around, {}, {}};
  l.read = [](const Array& t, const Array& ids) {
    return vmap([&](const Array& i) { return take(t, i); }, {.in_axes = {1}, .out_axes = {2}})(ids);
  };
  for (std::size_t i = 0; i < 3; ++i)
    for (Dim s = 0; s < 3; ++s)
      for (std::size_t lane = 0; lane < 4; ++lane)
        l.places.push_back(3 * nearest(around[4 * i + lane], 7) + s);
  expect_right(l);

  // Tables of their own, each shared by several.
  l = {"tables", {2, 7, 3}, {2, 6}, around, {}, {}};
  l.read = vmap([](const Array& t, const Array& ids) {
    return vmap([&](const Array& i) { return t[i]; })(ids);
  });
  for (std::size_t i = 0; i < 12; ++i)
    for (Dim s = 0; s < 3; ++s)
      l.places.push_back(3 * (7 * Dim(i / 6) + nearest(around[i], 7)) + s);
  expect_right(l);

  // Every element reads from all tables.
  l = {"all tables", {2, 7, 3}, {many}, around, {}, {}};
  l.read = [](const Array& tables, const Array& ids) {
    return vmap([&](const Array& i) { return vmap([&](const Array& t) { return t[i]; })(tables); })(
        ids);
  };
  for (int i : around)
    for (Dim t = 0; t < 2; ++t)
      for (Dim s = 0; s < 3; ++s) l.places.push_back(3 * (7 * t + nearest(i, 7)) + s);
  expect_right(l);
}

TEST_F(SharedTable, SlicesMoveToFit) {
  const auto start = [](Dim i, Dim length, Dim size) {
    return clamped(i < 0 ? i + length : i, length - size);
  };
  Lookup l{"rows", {7, 3}, {many}, around, {}, {}};
  l.read = [](const Array& t, const Array& ids) {
    return vmap([&](const Array& i) { return dynamic_slice(t, {i, 0}, {2, 3}); })(ids);
  };
  for (int i : around)
    for (Dim k = 0; k < 6; ++k) l.places.push_back(3 * start(i, 7, 2) + k);
  expect_right(l);

  l = {"columns", {2, 7}, {many}, around, {}, {}};
  l.read = [](const Array& t, const Array& ids) {
    return vmap([&](const Array& i) { return dynamic_slice(t, {5, i}, {1, 3}); })(ids);
  };
  for (int i : around)
    for (Dim k = 0; k < 3; ++k) l.places.push_back(7 + start(i, 7, 3) + k);
  expect_right(l);

  // Two axes in part and one between them as a whole, within tables of their own.
  l = {"blocks", {2, 4, 3, 5, 2}, {2, 6}, around, {}, {}};
  l.read = vmap([](const Array& t, const Array& ids) {
    return vmap([&](const Array& i) {
      return dynamic_slice(t, {i, 0, 1 - i, 0}, {2, 3, 4, 2});
    })(ids);
  });
  for (std::size_t i = 0; i < 12; ++i)
    for (Dim a = 0; a < 2; ++a)
      for (Dim b = 0; b < 3; ++b)
        for (Dim c = 0; c < 4; ++c)
          for (Dim d = 0; d < 2; ++d)
            l.places.push_back(120 * Dim(i / 6) + 30 * (start(around[i], 4, 2) + a) + 10 * b +
                               2 * (start(1 - around[i], 5, 4) + c) + d);
  expect_right(l);

  l = {"everything", {2, 3}, {2}, {5, 6}, {}, {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}};
  l.read = [](const Array& t, const Array& ids) {
    return vmap([&](const Array& i) { return dynamic_slice(t, {i, i}, {2, 3}); })(ids);
  };
  expect_right(l);
}

TEST_F(SharedTable, LanesOfLoopsLookUp) {
  constexpr Dim lanes = 20, steps = 5;
  Ids ids;
  for (Dim i = 0; i < lanes * steps; ++i) ids.push_back(int(i * 5 % 17) - 8);
  // Rows lane by lane and step by step, from tables that a lane could hold and that it could not.
  for (Dim rows : {7, 500}) {
    Lookup l{"scan of " + std::to_string(rows), {rows, 3}, {lanes, steps}, ids, {}, {}};
    l.read = [](const Array& t, const Array& all) {
      return vmap([&](const Array& own) {
        return scan(
                   [&](const Array& last, const Array& i) {
                     return std::pair{t[i], last + t[i]};
                   },
                   zeros({3}), own)
            .second;
      })(all);
    };
    // What a step stacks is the sum of two rows: of loss c (a + b)^2 / 2 there is no list of
    // places.
    const auto n = static_cast<std::size_t>(lanes * steps * 3);
    const Doubles w = waves(rows * 3, 0), c = waves(Dim(n), 2);
    Doubles value(n), slope(w.size(), 0);
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t at = k / 3, s = k % 3;
      const auto place = [&](std::size_t which) {
        return 3 * static_cast<std::size_t>(nearest(ids[which], rows)) + s;
      };
      const bool first = at % steps == 0;
      value[k] = w[place(at)] + (first ? 0 : w[place(at - 1)]);
      slope[place(at)] += c[k] * value[k];
      if (!first) slope[place(at - 1)] += c[k] * value[k];
    }
    const Array table = up(w, l.table), all = rt.from_host(ids, l.ids_shape),
                weights = up(c, {lanes, steps, 3});
    expect_near(jit(rt, l.read)(table, all), value, l.name);
    auto slopes = jit(rt, [&l](const Array& t, const Array& i, const Array& k) {
      return grad([&](const Array& x) { return 0.5f * sum(k * square(l.read(x, i))); })(t);
    });
    expect_near(slopes(table, all, weights), slope, l.name + ": grad");
  }
}

TEST_F(SharedTable, LanesGoBackOnTheirOwnCounts) {
  for (Dim rows : {7, 500}) {
    Doubles slope(static_cast<std::size_t>(rows) * 3, 0), value;
    const Doubles w = waves(rows * 3, 0);
    for (int first : around) {
      const Dim count = 1 + nearest(first, 4);
      for (std::size_t s = 0; s < 3; ++s) {
        double sum = 0;
        for (Dim k = 0; k < count; ++k)
          sum += w[3 * static_cast<std::size_t>(nearest(first + k, rows)) + s];
        value.push_back(sum);
        for (Dim k = 0; k < count; ++k)
          slope[3 * static_cast<std::size_t>(nearest(first + k, rows)) + s] += sum;
      }
    }
    const auto read = [](const Array& t, const Array& ids) {
      return vmap([&](const Array& i) {
        const Array count = clip(where(i < 0, i + 4, i), 0, 3) + 1;
        return fori_loop(0, count, [&](const Array& k, const Array& s) { return s + t[i + k]; },
                         zeros({3}), {.max_steps = 4});
      })(ids);
    };
    const Array table = up(w, {rows, 3}), ids = rt.from_host(around, {many});
    expect_near(jit(rt, read)(table, ids), value, "value");
    auto slopes = jit(rt, [read](const Array& t, const Array& i) {
      return grad([&](const Array& x) { return 0.5f * sum(square(read(x, i))); })(t);
    });
    expect_near(slopes(table, ids), slope, "grad");
  }
}

TEST_F(SharedTable, TakesTheMemoryOfTheTableAndOfWhatIsRead) {
  constexpr Dim rows = 20000, count = 30000, width = 16, lanes = 30, steps = 100;
  const Array table = up(waves(rows * width, 0), {rows, width});
  Ids ids;
  for (Dim i = 0; i < count; ++i) ids.push_back(int(i * 7919 % rows));
  const auto loss = [](const auto& read) {
    return [read](const Array& t, const Array& i) {
      return grad([&](const Array& x) { return sum(square(read(x, i))); })(t);
    };
  };
  auto looked_up =
      jit(rt, loss([](const Array& t, const Array& i) { return vmap(nn::Embedding{t})(i); }));
  looked_up(table, rt.from_host(ids, {count}));
  // The lanes of a GPU that walk updates have arrays of their own, up to 16 times what those take.
  const Dim most = runs_on_cores(rt.target()) ? 4 : 20;
  EXPECT_LE(looked_up.memory_report().peak(), most * (rows + count) * width * sizeof(float));
  ids.resize(lanes * steps);
  for (int& i : ids) i %= 1000;
  auto in_loops = jit(rt, loss([](const Array& t, const Array& i) {
                        return vmap([&](const Array& own) {
                          return scan(
                                     [&](const Array& s, const Array& k) {
                                       const Array next = s + t[k];
                                       return std::pair{next, sum(next)};
                                     },
                                     zeros({width}), own)
                              .second;
                        })(i);
                      }));
  in_loops(up(waves(1000 * width, 0), {1000, width}), rt.from_host(ids, {lanes, steps}));
  EXPECT_LE(in_loops.memory_report().peak(), 8 * (1000 + lanes * steps) * width * sizeof(float));
}

}  // namespace
}  // namespace gnomon::testing
