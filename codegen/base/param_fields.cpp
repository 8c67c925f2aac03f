// codegen/base/param_fields.cpp -- the printer and parser of parameter lists.
#include "codegen/base/param_fields.h"

namespace gnomon {

void ParamPrinter::field(std::string_view name) {
  if (!first_) out_ += ' ';
  first_ = false;
  out_ += name;
  out_ += '=';
}

std::optional<std::string_view> ParamParser::next_field() {
  if (!fields_ || in.at("]")) return std::nullopt;
  const std::string_view name = in.word("the name of a parameter");
  in.expect("=");
  return name;
}

namespace param_fields {

void fail_unknown(TextReader& in, std::string_view what, std::string_view found,
                  const std::vector<std::string_view>& known) {
  std::string text = "unknown " + std::string(what) + " `" + std::string(found) + "`";
  for (std::size_t i = 0; i < known.size(); ++i) {
    text += (i ? ", " : "; known are ") + std::string(known[i]);
  }
  if (known.empty()) text += "; there are none";
  in.fail(text);
}

Shape Field<Shape>::parse(ParamParser& p) {
  Shape shape;
  p.in.expect("[");
  while (!p.in.accept("]")) {
    if (shape.rank()) p.in.expect(",");
    if (shape.rank() == Shape::max_rank) p.in.fail("a shape has at most 8 dimensions");
    shape.append(p.in.integer("a dimension"));
  }
  return shape;
}

}  // namespace param_fields
}  // namespace gnomon
