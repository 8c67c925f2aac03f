// codegen/base/array_text.cpp -- arrays as NumPy prints them.
#include "codegen/base/array_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

namespace gnomon {
namespace {

// NumPy's defaults.
constexpr int precision = 8;
constexpr Dim threshold = 1000;
constexpr Dim edge = 3;
constexpr std::size_t line_width = 75;

std::string digits(double x, bool single, std::chars_format format, int fixed_precision) {
  char text[400];
  std::to_chars_result end{};
  if (fixed_precision >= 0) {
    end = std::to_chars(text, text + sizeof text, x, format, fixed_precision);
  } else if (single) {
    end = std::to_chars(text, text + sizeof text, static_cast<float>(x), format);
  } else {
    end = std::to_chars(text, text + sizeof text, x, format);
  }
  return std::string(text, end.ptr);
}

// The fewest digits that tell x from its neighbours, at most `precision` after the point; "1." for
// whole numbers.
std::string positional(double x, bool single) {
  std::string text = digits(x, single, std::chars_format::fixed, -1);
  std::size_t point = text.find('.');
  if (point != std::string::npos && text.size() - point - 1 > precision) {
    text = digits(x, single, std::chars_format::fixed, precision);
    point = text.find('.');
    while (text.back() == '0') text.pop_back();
  }
  if (point == std::string::npos) text += '.';
  return text;
}

// Mantissa and exponent apart: "1.5" and "e+10".
std::pair<std::string, std::string> scientific(double x, bool single) {
  std::string text = digits(x, single, std::chars_format::scientific, -1);
  std::size_t e = text.find('e');
  if (const std::size_t point = text.find('.');
      point != std::string::npos && e - point - 1 > precision) {
    text = digits(x, single, std::chars_format::scientific, precision);
    e = text.find('e');
    std::size_t end = e;
    while (text[end - 1] == '0') --end;
    text.erase(end, e - end);
    e = end;
  }
  std::string mantissa = text.substr(0, e);
  if (mantissa.find('.') == std::string::npos) mantissa += '.';
  return {mantissa, text.substr(e)};
}

std::string padded_left(const std::string& text, std::size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

// The floats of an array, aligned at their points: all positional, or all with an exponent when
// they differ too much.
std::vector<std::string> float_texts(const std::vector<double>& values, bool single) {
  double largest = 0, smallest = INFINITY;
  bool any = false;
  for (const double x : values) {
    if (!std::isfinite(x) || x == 0) continue;
    any = true;
    largest = std::max(largest, std::fabs(x));
    smallest = std::min(smallest, std::fabs(x));
  }
  const bool exponents = any && (largest >= 1e8 || smallest < 1e-4 || largest / smallest > 1000.0);
  std::size_t left = 0, right = 0, exponent_digits = 2;
  std::vector<std::pair<std::string, std::string>> parts(
      values.size());  // up to the point; after it
  std::vector<std::string> tails(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) continue;
    std::string text;
    if (exponents) {
      std::tie(text, tails[i]) = scientific(values[i], single);
      exponent_digits = std::max(exponent_digits, tails[i].size() - 2);
    } else {
      text = positional(values[i], single);
    }
    const std::size_t point = text.find('.');
    parts[i] = {text.substr(0, point), text.substr(point + 1)};
    left = std::max(left, parts[i].first.size());
    right = std::max(right, parts[i].second.size());
  }
  std::size_t width = 0;
  std::vector<std::string> texts(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      texts[i] = std::isnan(values[i]) ? "nan" : values[i] < 0 ? "-inf" : "inf";
      width = std::max(width, texts[i].size());
      continue;
    }
    std::string fraction = parts[i].second;
    // With exponents the fractions line up with zeros, without them with blanks.
    fraction.resize(right, exponents ? '0' : ' ');
    if (exponents) {
      std::string power = tails[i];
      while (power.size() - 2 < exponent_digits) power.insert(2, "0");
      fraction += power;
    }
    texts[i] = padded_left(parts[i].first, left) + "." + fraction;
    width = std::max(width, texts[i].size());
  }
  for (std::string& text : texts) text = padded_left(text, width);
  return texts;
}

// A single number has nothing to line up with: all the digits that tell it apart, an exponent when
// it is far from 1.
std::string single_float(double x, bool single) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
  const double size = std::fabs(x);
  if (size != 0 && (size < 1e-4 || size >= 1e16))
    return digits(x, single, std::chars_format::scientific, -1);
  const std::string text = digits(x, single, std::chars_format::fixed, -1);
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

std::vector<std::string> element_texts(const HostArray& array, const std::vector<Dim>& shown) {
  const DType type = array.aval.dtype;
  if (is_float(type)) {
    std::vector<double> values;
    for (const Dim i : shown) values.push_back(array.number(i));
    return float_texts(values, type != DType::f64);
  }
  std::vector<std::string> texts;
  std::size_t width = 0;
  for (const Dim i : shown) {
    if (type == DType::boolean) {
      texts.push_back(array.integer(i) != 0 ? "True" : "False");
    } else if (type == DType::u64) {
      texts.push_back(std::to_string(static_cast<std::uint64_t>(array.integer(i))));
    } else {
      texts.push_back(std::to_string(array.integer(i)));
    }
    width = std::max(width, texts.back().size());
  }
  for (std::string& text : texts) text = padded_left(text, width);
  return texts;
}

std::string formatted(const HostArray& array, Dim i, const std::string& format) {
  char text[512];  // a double has 309 digits in front of the point
  const bool whole = std::string("dxX").find(format.back()) != std::string::npos;
  if (whole)
    std::snprintf(text, sizeof text, format.c_str(), static_cast<long long>(array.integer(i)));
  else
    std::snprintf(text, sizeof text, format.c_str(), array.number(i));
  return text;
}

class Printer {
 public:
  Printer(const Shape& shape, bool summarise) : shape_(shape), summarise_(summarise) {}

  // Flat positions of the elements that are shown, in order.
  std::vector<Dim> shown() const {
    std::vector<Dim> result;
    collect(0, 0, result);
    return result;
  }

  std::string print(const std::vector<std::string>& texts) {
    texts_ = &texts;
    next_ = 0;
    return block(0, 1);
  }

 private:
  bool cut(int axis) const { return summarise_ && shape_[axis] > 2 * edge; }

  template <class F>
  void for_each(int axis, F visit) const {  // visit(index), or visit(-1) for the gap
    const Dim n = shape_[axis];
    if (!cut(axis)) {
      for (Dim i = 0; i < n; ++i) visit(i);
      return;
    }
    for (Dim i = 0; i < edge; ++i) visit(i);
    visit(-1);
    for (Dim i = n - edge; i < n; ++i) visit(i);
  }

  void collect(int axis, Dim flat, std::vector<Dim>& result) const {
    if (axis == shape_.rank()) {
      result.push_back(flat);
      return;
    }
    for_each(axis, [&](Dim i) {
      if (i >= 0) collect(axis + 1, flat * shape_[axis] + i, result);
    });
  }

  std::string block(int axis, std::size_t indent) {
    if (axis == shape_.rank()) return (*texts_)[next_++];
    std::string text = "[";
    if (axis + 1 == shape_.rank()) {
      std::size_t column = indent;  // where the next element would start
      bool first = true;
      for_each(axis, [&](Dim i) {
        const std::string element = i < 0 ? "..." : (*texts_)[next_++];
        // The closing brackets of all axes have to fit as well.
        const std::size_t reserve = static_cast<std::size_t>(shape_.rank());
        if (!first && column + 1 + element.size() + reserve > line_width + 1) {
          while (text.back() == ' ') text.pop_back();
          text += "\n" + std::string(indent, ' ');
          column = indent;
        } else if (!first) {
          text += " ";
          ++column;
        }
        text += element;
        column += element.size();
        first = false;
      });
      return text + "]";
    }
    const int blank_lines = shape_.rank() - axis - 2;
    bool first = true;
    for_each(axis, [&](Dim i) {
      if (!first) {
        text += "\n" + std::string(static_cast<std::size_t>(blank_lines), '\n') +
                std::string(indent, ' ');
      }
      first = false;
      text += i < 0 ? "..." : block(axis + 1, indent + 1);
    });
    return text + "]";
  }

  const Shape shape_;
  const bool summarise_;
  const std::vector<std::string>* texts_ = nullptr;
  std::size_t next_ = 0;
};

}  // namespace

std::string to_string(const HostArray& host) {
  const auto& [dtype, shape] = host.aval;
  if (shape.rank() == 0 && is_float(dtype))
    return single_float(host.number(0), dtype != DType::f64);
  if (shape.size() == 0) return "[]";
  Printer printer(shape, shape.size() > threshold);
  return printer.print(element_texts(host, printer.shown()));
}

std::string to_string(const HostArray& host, const std::string& element_format) {
  const Shape& shape = host.aval.shape;
  if (shape.rank() == 0) return formatted(host, 0, element_format);
  if (shape.size() == 0) return "[]";
  Printer printer(shape, shape.size() > threshold);
  std::vector<std::string> texts;
  std::size_t width = 0;
  for (const Dim i : printer.shown()) {
    texts.push_back(formatted(host, i, element_format));
    width = std::max(width, texts.back().size());
  }
  for (std::string& text : texts) text = padded_left(text, width);
  return printer.print(texts);
}

}  // namespace gnomon
