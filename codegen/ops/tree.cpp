// codegen/ops/tree.cpp -- what gnomon/tree_ops.h does with arrays once trees are taken
// apart.
#include "gnomon/tree_ops.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "codegen/base/path_visitor.h"
#include "codegen/lax/align.h"
#include "codegen/lax/lax.h"
#include "codegen/trace/eager.h"
#include "gnomon/numeric.h"
#include "gnomon/ops.h"

namespace gnomon::tree::detail {
namespace {

/// "392.0 KiB".
std::string bytes_text(double bytes) {
  if (bytes < 1024) return std::to_string(static_cast<int>(bytes)) + " bytes";
  constexpr const char* units[] = {"KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (bytes /= 1024; bytes >= 1024 && unit + 1 < std::size(units); ++unit) bytes /= 1024;
  char text[40];
  std::snprintf(text, sizeof(text), "%.1f %s", bytes, units[unit]);
  return text;
}

std::string padded(std::string text, std::size_t width, bool right = false) {
  const std::string space(width - std::min(width, text.size()), ' ');
  return right ? space + text : text + space;
}

}  // namespace

Array number(const Operand& x) { return align::as_array("tree::reduce", x); }

namespace {

/// Bools as the numbers 0 and 1.
Array counted(const Array& a, Loc loc) {
  return a.dtype() == DType::boolean ? lax::convert(a, DType::i32, loc) : a;
}

/// Throws UsageError, in the name of a function of trees, where array number i is bool.
void require_numbers(std::string_view op, const Array& a, std::size_t i, Loc loc) {
  if (a.dtype() == DType::boolean)
    usage_error(op,
                "array " + std::to_string(i) + " is " + to_string(a.aval()) +
                    ", which is no number; leave it out (gnomon/partition.h), or cast it",
                loc);
}

}  // namespace

Array dot(const std::vector<Array>& a, const std::vector<Array>& b, Loc loc) {
  if (a.size() != b.size()) {
    usage_error("tree::dot",
                "the trees have " + std::to_string(a.size()) + " and " + std::to_string(b.size()) +
                    " arrays; vectors in them need equal lengths",
                loc);
  }
  std::vector<std::size_t> both;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].is_hole() || b[i].is_hole()) continue;
    if (a[i].shape() != b[i].shape()) {
      usage_error("tree::dot",
                  "array " + std::to_string(i) + " is " + to_string(a[i].aval()) +
                      " in one tree and " + to_string(b[i].aval()) +
                      " in the other; they need one shape",
                  loc);
    }
    both.push_back(i);
  }
  if (both.empty()) return zeros({}, DType::f32, loc);
  return at_once("tree::dot", loc, [&] {
    Array total;
    for (const std::size_t i : both) {
      const Array product = vdot({counted(a[i], loc), loc}, {counted(b[i], loc), loc});
      total = total.empty() ? product : gnomon::add({total, loc}, {product, loc});
    }
    return total;
  });
}

Array norm(const std::vector<Array>& arrays, Loc loc) {
  if (arrays.empty()) return zeros({}, DType::f32, loc);
  return at_once("tree::norm", loc, [&]() -> Array {
    Array squares;
    for (const Array& a : arrays) {
      const Array one = sum({square({counted(a, loc), loc}), loc});
      squares = squares.empty() ? one : gnomon::add({squares, loc}, {one, loc});
    }
    squares = align::as_float("tree::norm", {squares, loc});
    // The root's derivative at 0 is infinite: it is taken of 1 there.
    const Array nothing = equal({squares, loc}, {0.0, loc});
    const Array root = sqrt({where({nothing, loc}, {1.0, loc}, {squares, loc}), loc});
    return where({nothing, loc}, {0.0, loc}, {root, loc});
  });
}

Array ravel(const std::vector<Array>& arrays, Loc loc) {
  if (arrays.empty()) return zeros({0}, DType::f32, loc);
  DType dtype = arrays[0].dtype();
  for (const Array& a : arrays) dtype = align::promote(dtype, a.dtype());
  std::vector<Array> parts;
  for (const Array& a : arrays)
    parts.push_back(lax::convert(lax::reshape(a, Shape(a.size()), loc), dtype, loc));
  return concatenate(parts, 0, loc);
}

std::vector<Array> unravel(const Array& flat, const std::vector<Aval>& avals, Loc loc) {
  Dim size = 0;
  for (const Aval& a : avals) size += a.shape.size();
  if (flat.rank() != 1 || flat.dim(0) != size) {
    usage_error("tree::unravel",
                "the vector is " + to_string(flat.aval()) + " and the tree has " +
                    std::to_string(size) + " elements; give as many, in one axis",
                loc);
  }
  std::vector<Array> parts;
  Dim start = 0;
  for (const Aval& a : avals) {
    const Dim end = start + a.shape.size();
    parts.push_back(lax::convert(
        lax::reshape(lax::slice_axis(flat, 0, start, end, loc), a.shape, loc), a.dtype, loc));
    start = end;
  }
  return parts;
}

namespace {

/// A line of a table: an array or something static.
struct Row {
  std::string path, text;
  const Array* array = nullptr;
};

struct RowVisitor final : PathVisitor {
  RowVisitor() : PathVisitor("") {}
  void leaf(const Array& a) override {
    rows.push_back({path_, a.is_hole() ? "hole" : "", a.is_hole() ? nullptr : &a});
  }
  void value(const StaticValue& x) override { rows.push_back({path_, x.text(x.value)}); }
  void count(std::size_t n) override {
    if (n == 0) rows.push_back({path_, "no elements"});
  }
  void presence(bool present) override {
    if (!present) rows.push_back({path_, "absent"});
  }
  std::vector<Row> rows;
};

struct Sums {
  std::size_t arrays = 0;
  Dim elements = 0;
  double bytes = 0;
  void add(const Array& a) {
    ++arrays;
    elements += a.size();
    bytes += static_cast<double>(a.size()) * static_cast<double>(size_of(a.dtype()));
  }
  std::string count() const {
    return std::to_string(arrays) + (arrays == 1 ? " array" : " arrays");
  }
  std::string line() const {
    return count() + ", " + std::to_string(elements) +
           (elements == 1 ? " element, " : " elements, ") + bytes_text(bytes) + "\n";
  }
};

/// The first `depth` steps of a path.
std::string_view cut(std::string_view path, std::size_t depth) {
  for (std::size_t i = 0; i < path.size(); ++i)
    if ((path[i] == '.' || path[i] == '[') && depth-- == 0) return path.substr(0, i);
  return path;
}

std::string table_of_parts(const std::vector<Row>& rows, std::size_t depth) {
  std::vector<std::pair<std::string, Sums>> parts;
  Sums all;
  for (const Row& r : rows) {
    if (!r.array || r.array->empty()) continue;
    const std::string_view part = cut(r.path, depth);
    if (parts.empty() || parts.back().first != part) parts.emplace_back(part, Sums());
    parts.back().second.add(*r.array);
    all.add(*r.array);
  }
  std::size_t width[4] = {};
  std::vector<std::array<std::string, 4>> cells;
  for (const auto& [path, sums] : parts) {
    cells.push_back({path, sums.count(), std::to_string(sums.elements), bytes_text(sums.bytes)});
    for (std::size_t i = 0; i < 4; ++i) width[i] = std::max(width[i], cells.back()[i].size());
  }
  std::string text;
  for (const auto& c : cells)
    text += padded(c[0], width[0]) + "  " + padded(c[1], width[1]) + "  " +
            padded(c[2], width[2], true) + "  " + padded(c[3], width[3], true) + "\n";
  return text + all.line();
}

}  // namespace

std::string table(AnyTree tree, int depth) {
  RowVisitor visitor;
  tree.walk_by(visitor);
  if (depth > 0) return table_of_parts(visitor.rows, static_cast<std::size_t>(depth));
  const std::vector<Row>& rows = visitor.rows;
  std::size_t paths = 0, types = 0, counts = 0;
  Sums all;
  for (const Row& r : rows) {
    paths = std::max(paths, r.path.size());
    if (!r.array || r.array->empty()) continue;
    types = std::max(types, to_string(r.array->aval()).size());
    counts = std::max(counts, std::to_string(r.array->size()).size());
    all.add(*r.array);
  }
  std::string text;
  for (const Row& r : rows) {
    if (paths > 0) text += padded(r.path, paths) + "  ";
    if (!r.array) {
      text += r.text;
    } else if (r.array->empty()) {
      text += "empty";
    } else {
      const Aval& a = r.array->aval();
      text +=
          padded(to_string(a), types) + "  " +
          padded(std::to_string(a.shape.size()), counts, true) + "  " +
          bytes_text(static_cast<double>(a.shape.size()) * static_cast<double>(size_of(a.dtype)));
    }
    text += '\n';
  }
  return text + all.line();
}

Arrays add(const Arrays& a, const Arrays& b, Loc loc) {
  check_same_count(a.size(), b.size());
  Arrays result;
  result.reserve(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].is_hole() || b[i].is_hole()) {
      result.push_back(a[i].is_hole() ? b[i] : a[i]);
      continue;
    }
    if (a[i].aval() != b[i].aval()) {
      usage_error("tree::add",
                  "array " + std::to_string(i) + " is " + to_string(a[i].aval()) +
                      " in one tree and " + to_string(b[i].aval()) +
                      " in the other; trees are added without promotion",
                  loc);
    }
    require_numbers("tree::add", a[i], i, loc);
    result.push_back(lax::add(a[i], b[i], loc));
  }
  return result;
}

Arrays scale(const Operand& factor, const Arrays& a, Loc loc) {
  Arrays result;
  result.reserve(a.size());
  for (const Array& x : a) {
    require_numbers("tree::scale", x, result.size(), loc);
    if (!factor.is_array()) {
      if (factor.scalar().kind == Scalar::Kind::floating && !is_float(x.dtype())) {
        usage_error("tree::scale",
                    "a factor with a fraction does not scale " + to_string(x.aval()) +
                        "; cast the array first",
                    loc);
      }
      result.push_back(lax::mul(x, factor.scalar(), loc));
      continue;
    }
    const Array& f = factor.array();
    if (f.aval() != Aval{x.dtype(), {}}) {
      usage_error("tree::scale",
                  "the factor is " + to_string(f.aval()) + " and " + to_string(x.aval()) +
                      " needs a " + to_string(x.dtype(), {}),
                  loc);
    }
    result.push_back(lax::mul(x, lax::broadcast(f, x.shape(), {}, loc), loc));
  }
  return result;
}

Arrays zeros_like(const Arrays& a, Loc loc) {
  Arrays result;
  result.reserve(a.size());
  for (const Array& x : a) result.push_back(lax::zeros_like(x, loc));
  return result;
}

}  // namespace gnomon::tree::detail
