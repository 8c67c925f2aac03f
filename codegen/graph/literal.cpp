// codegen/graph/literal.cpp -- hash and text of constants.
#include "codegen/graph/literal.h"

#include <cmath>
#include <utility>

namespace gnomon {

Literal Literal::scalar(DType dtype, double x) {
  HostArray array(Aval{dtype, {}});
  array.set_number(0, x);
  return Literal(std::move(array));
}

Literal Literal::integer(DType dtype, std::int64_t x) {
  HostArray array(Aval{dtype, {}});
  array.set_integer(0, x);
  return Literal(std::move(array));
}

void Literal::hash(Hasher& hasher) const {
  hasher.add(static_cast<std::uint64_t>(aval().dtype));
  param_fields::Field<Shape>::hash(hasher, aval().shape);
  hasher.add(
      std::string_view(reinterpret_cast<const char*>(array_.bytes.data()), array_.bytes.size()));
}

void Literal::print(ParamPrinter& out) const {
  out.text(name(aval().dtype));
  if (aval().shape.rank()) out.text(to_string(aval().shape));
  out.text("(");
  for (Dim i = 0; i < array_.size(); ++i) {
    if (i) out.text(",");
    switch (aval().dtype) {
      case DType::boolean:
        out.text(array_.integer(i) ? "true" : "false");
        break;
      case DType::f16:
      case DType::bf16:
      case DType::f32:
        out.text(number_text(static_cast<float>(array_.number(i))));
        break;
      case DType::f64:
        out.text(number_text(array_.number(i)));
        break;
      case DType::u64:
        out.unsigned_integer(static_cast<std::uint64_t>(array_.integer(i)));
        break;
      case DType::i8:
      case DType::u8:
      case DType::i16:
      case DType::u16:
      case DType::i32:
      case DType::u32:
      case DType::i64:
        out.integer(array_.integer(i));
        break;
    }
  }
  out.text(")");
}

std::pair<std::int64_t, std::int64_t> integer_range(DType t) {
  const unsigned bits = bits_of(t) - (is_signed(t) ? 1 : 0);
  const std::uint64_t above = bits >= 64 ? 0 : std::uint64_t{1} << bits;
  const auto high = static_cast<std::int64_t>(above - 1);
  return {is_signed(t) ? -high - 1 : 0, high};
}

Literal Literal::parse(ParamParser& p) {
  Aval aval{parse_dtype(p.in), {}};
  if (p.in.at("[")) aval.shape = param_fields::Field<Shape>::parse(p);
  HostArray array(aval);
  p.in.expect("(");
  for (Dim i = 0; i < array.size(); ++i) {
    if (i) p.in.expect(",");
    if (aval.dtype == DType::boolean) {
      array.set_integer(i, param_fields::Field<bool>::parse(p));
    } else if (is_float(aval.dtype)) {
      const double x = p.in.number();
      array.set_number(i, x);
      if (std::isfinite(x) && !std::isfinite(array.number(i)))
        p.in.fail(number_text(x) + " is beyond the largest " + std::string(name(aval.dtype)));
    } else if (aval.dtype == DType::u64) {
      array.set_integer(i, static_cast<std::int64_t>(p.in.unsigned_integer()));
    } else {
      const auto [low, high] = integer_range(aval.dtype);
      array.set_integer(i, p.in.integer(low, high));
    }
  }
  p.in.expect(")");
  return Literal(std::move(array));
}

DType parse_dtype(TextReader& in) {
  const std::string_view word = in.word("an element type");
  std::vector<std::string_view> known;
  for (int i = 0; i <= static_cast<int>(DType::f64); ++i) {
    const auto dtype = static_cast<DType>(i);
    if (name(dtype) == word) return dtype;
    known.push_back(name(dtype));
  }
  param_fields::fail_unknown(in, "element type", word, known);
}

Aval parse_aval(TextReader& in) {
  Aval aval;
  aval.dtype = parse_dtype(in);
  ParamParser parser(in, false);
  aval.shape = param_fields::Field<Shape>::parse(parser);
  return aval;
}

}  // namespace gnomon
