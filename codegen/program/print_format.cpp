// codegen/program/print_format.cpp -- taking texts with placeholders apart.
#include "codegen/program/print_format.h"

namespace gnomon::effects {
namespace {

/// [+| ][0][width][.precision][f|F|e|E|g|G|d|x|X], all of it optional.
bool is_spec(std::string_view s) {
  std::size_t i = 0;
  const auto digits = [&] {
    const std::size_t first = i;
    while (i < s.size() && s[i] >= '0' && s[i] <= '9') ++i;
    return i - first;
  };
  if (i < s.size() && (s[i] == '+' || s[i] == ' ')) ++i;
  if (digits() > 2) return false;
  if (i < s.size() && s[i] == '.') {
    ++i;
    if (const std::size_t n = digits(); n == 0 || n > 2) return false;
  }
  if (i < s.size() && std::string_view("fFeEgGdxX").find(s[i]) != std::string_view::npos) ++i;
  return i == s.size();
}

}  // namespace

Format parse_format(std::string_view text, Loc loc) {
  const auto wrong = [&](const std::string& what) {
    usage_error("debug::print",
                "\"" + std::string(text) + "\" has " + what +
                    "; placeholders are written `{}` or as in `{:.3f}`, braces `{{` and `}}`",
                loc);
  };
  Format r;
  r.texts.emplace_back();
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c != '{' && c != '}') {
      r.texts.back() += c;
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == c) {
      r.texts.back() += c;
      ++i;
      continue;
    }
    const std::size_t end = text.find('}', i);
    if (c == '}' || end == text.npos) wrong(std::string("a single `") + c + "`");
    const std::string_view inside = text.substr(i + 1, end - i - 1);
    if (!inside.empty() && (inside[0] != ':' || !is_spec(inside.substr(1))))
      wrong("`{" + std::string(inside) + "}`");
    r.specs.emplace_back(inside.empty() ? inside : inside.substr(1));
    r.texts.emplace_back();
    i = end;
  }
  return r;
}

std::string element_format(const std::string& spec, DType type, Loc loc) {
  if (spec.empty()) return "";
  const char last = spec.back();
  const bool typed = last < '0' || last > '9';
  const bool whole = last == 'd' || last == 'x' || last == 'X';
  const bool precise = spec.find('.') != spec.npos;
  if (whole && (is_float(type) || precise))
    usage_error("debug::print",
                "`{:" + spec + "}` prints integers" +
                    (precise ? ", which have no precision; leave it out"
                             : " and gets " + std::string(name(type)) + "; use f, e or g, or cast"),
                loc);
  if (whole) return "%" + spec.substr(0, spec.size() - 1) + "ll" + last;
  if (typed && last != '+' && last != ' ') return "%" + spec;
  return "%" + spec + (is_float(type) || precise ? "g" : "lld");
}

}  // namespace gnomon::effects
