// shaders/kernel/print.cpp -- kernel to text.
#include <bit>
#include <charconv>
#include <cmath>

#include "shaders/kernel/scalar.h"
#include "shaders/kernel/text.h"

namespace gnomon::kernel {
namespace {

std::string quoted(const std::string& s) {
  std::string text = "\"";
  for (const char c : s) {
    if (c == '\n') {
      text += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + '"';
}

std::string hexadecimal(std::uint64_t bits) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, bits, 16).ptr;
  return "0x" + std::string(digits, end);
}

/// The shortest decimal that reads back as the same value.
template <class T>
std::string shortest(T x) {
  char digits[64];
  return std::string(digits, std::to_chars(digits, digits + sizeof digits, x).ptr);
}

std::string constant_text(DType t, std::uint64_t bits) {
  if (t == DType::boolean) return bits != 0 ? "true" : "false";
  if (is_unsigned(t)) return std::to_string(bits);
  if (is_signed(t)) {
    const std::uint32_t unused = 64 - bits_of(t);
    return std::to_string(static_cast<std::int64_t>(bits << unused) >> unused);
  }
  const double x = to_double(t, bits);
  if (std::isnan(x)) return hexadecimal(bits);
  return t == DType::f64 ? shortest(x) : shortest(static_cast<float>(x));
}

bool has_immediate(Op op) {
  return form(op) == Form::parameter || form(op) == Form::extract || space(op) != Space::none;
}

class Printer {
 public:
  Printer(const Kernel& k, PrintOptions options)
      : kernel_(k), options_(options), numbers_(k.types.size(), ~0u) {
    number(k.body);
  }

  std::string kernel() {
    text_ = "kernel " + quoted(kernel_.name);
    if (kernel_.lanes != 0) text_ += " lanes=" + std::to_string(kernel_.lanes);
    text_ += " group=" + std::to_string(kernel_.group_size);
    if (kernel_.parameters != 0) text_ += " parameters=" + std::to_string(kernel_.parameters);
    text_ += " {\n";
    for (std::size_t b = 0; b < kernel_.buffers.size(); ++b) {
      const Buffer& buffer = kernel_.buffers[b];
      text_ += "  buffer " + std::to_string(b) + " " + quoted(buffer.name) + ": ";
      text_ += gnomon::name(buffer.dtype);
      text_ += buffer.access == Access::read    ? " read"
               : buffer.access == Access::write ? " write"
                                                : " read_write";
      if (buffer.coherent) text_ += " coherent";
      if (buffer.texel) text_ += " texel";
      if (buffer.history) text_ += " history";
      text_ += '\n';
    }
    arrays("private", kernel_.privates);
    arrays("shared", kernel_.shareds);
    region(kernel_.body, 1);
    return text_ + "}\n";
  }

  std::string line(const Instruction& i) {
    text_.clear();
    head(i);
    if (i.op == Op::loop) carried(i);
    return text_;
  }

 private:
  void number(const Region& r) {
    for (const Value v : r.arguments) define(v);
    for (const Instruction& i : r.body) {
      for (const Value v : i.results) define(v);
      for (const Region& nested : i.regions) number(nested);
    }
  }

  void define(Value v) {
    if (v.index < numbers_.size() && numbers_[v.index] == ~0u) numbers_[v.index] = next_++;
  }

  std::string text(Value v) const {
    if (v.index >= numbers_.size() || numbers_[v.index] == ~0u) {
      return "%undefined" + std::to_string(v.index);
    }
    return "%" + std::to_string(numbers_[v.index]);
  }

  std::string typed(Value v) const {
    return text(v) + ": " + (v.index < kernel_.types.size() ? to_string(kernel_.type(v)) : "?");
  }

  void arrays(const char* kind, const std::vector<LocalArray>& list) {
    for (std::size_t a = 0; a < list.size(); ++a) {
      text_ += std::string("  ") + kind + " " + std::to_string(a) + ": ";
      text_ += gnomon::name(list[a].dtype);
      text_ += "[" + std::to_string(list[a].length) + "]";
      text_ += list[a].history ? " history\n" : "\n";
    }
  }

  /// Results, name and operands: everything but the regions.
  void head(const Instruction& i) {
    for (std::size_t k = 0; k < i.results.size(); ++k) {
      text_ += (k == 0 ? "" : ", ") + typed(i.results[k]);
    }
    if (!i.results.empty()) text_ += " = ";
    text_ += name(i.op);
    if (i.exact) text_ += " exact";
    if (i.op == Op::constant && !i.results.empty() && i.results[0].index < kernel_.types.size()) {
      text_ += " " + constant_text(kernel_.type(i.results[0]).scalar, i.immediate);
    }
    if (has_immediate(i.op)) text_ += " " + std::to_string(i.immediate);
    if (i.op == Op::loop) return;
    for (const Value v : i.operands) text_ += " " + text(v);
  }

  void carried(const Instruction& i) {
    text_ += " (";
    for (std::size_t k = 0; k < i.operands.size(); ++k) {
      if (k != 0) text_ += ", ";
      const bool known = !i.regions.empty() && k < i.regions[0].arguments.size();
      text_ += (known ? typed(i.regions[0].arguments[k]) : "?") + " = " + text(i.operands[k]);
    }
    text_ += ")";
    if (i.immediate != 0) text_ += " max=" + std::to_string(i.immediate);
  }

  void region(const Region& r, int depth) {
    const std::string indent(static_cast<std::size_t>(2 * depth), ' ');
    for (const Instruction& i : r.body) {
      text_ += indent;
      head(i);
      if (i.op == Op::loop && i.regions.size() == 2) {
        carried(i);
        text_ += " {";
        comment(i);
        block(i.regions[0], depth + 1);
        text_ += indent + "} do (";
        const std::vector<Value>& arguments = i.regions[1].arguments;
        for (std::size_t k = 0; k < arguments.size(); ++k) {
          text_ += (k == 0 ? "" : ", ") + typed(arguments[k]);
        }
        text_ += ") {\n";
        block(i.regions[1], depth + 1);
        text_ += indent + "}\n";
      } else if (i.op == Op::if_ && i.regions.size() == 2) {
        text_ += " {";
        comment(i);
        block(i.regions[0], depth + 1);
        if (!i.regions[1].body.empty() || !i.regions[1].yields.empty()) {
          text_ += indent + "} else {\n";
          block(i.regions[1], depth + 1);
        }
        text_ += indent + "}\n";
      } else {
        comment(i);
      }
    }
  }

  void block(const Region& r, int depth) {
    region(r, depth);
    if (r.yields.empty()) return;
    text_ += std::string(static_cast<std::size_t>(2 * depth), ' ') + "yield";
    for (const Value v : r.yields) text_ += " " + text(v);
    text_ += '\n';
  }

  /// Ends the line.
  void comment(const Instruction& i) {
    if (options_.lines && i.line != 0 && i.line <= kernel_.lines.size()) {
      const SourceLine& at = kernel_.lines[i.line - 1];
      text_ += "  // " + at.file + ":" + std::to_string(at.line);
    }
    text_ += '\n';
  }

  const Kernel& kernel_;
  PrintOptions options_;
  std::vector<std::uint32_t> numbers_;  // per Value: its number in the text
  std::uint32_t next_ = 0;
  std::string text_;
};

}  // namespace

std::string print(const Kernel& k, PrintOptions options) { return Printer(k, options).kernel(); }

std::string print(const Kernel& k, const Instruction& i) { return Printer(k, {}).line(i); }

}  // namespace gnomon::kernel
