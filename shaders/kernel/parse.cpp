// shaders/kernel/parse.cpp -- text to kernel.
#include <cctype>
#include <charconv>
#include <optional>
#include <unordered_map>

#include "shaders/kernel/scalar.h"
#include "shaders/kernel/text.h"

namespace gnomon::kernel {
namespace {

struct Token {
  enum Kind { word, value, number, string, symbol, end } kind = end;
  std::string text;  // of a value without %, of a string without quotes and escapes
  int line = 1;
  int column = 1;
};

std::string shown(const Token& t) {
  switch (t.kind) {
    case Token::value:
      return "`%" + t.text + "`";
    case Token::string:
      return "\"" + t.text + "\"";
    case Token::end:
      return "the end of the text";
    case Token::word:
    case Token::number:
    case Token::symbol:
      break;
  }
  return "`" + t.text + "`";
}

[[noreturn]] void fail(const std::string& what, const Token& at) {
  throw ParseError("gnomon::parse_kernel: " + what + " (line " + std::to_string(at.line) +
                       ", column " + std::to_string(at.column) + ")",
                   at.line, at.column);
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Token next() {
    skip();
    Token t;
    t.line = line_;
    t.column = column_;
    if (at_ == text_.size()) return t;
    const char c = text_[at_];
    if (c == '"') return string(t);
    if (c == '%') {
      step();
      t.kind = Token::value;
      t.text = take(is_name);
      if (t.text.empty()) fail("a value has no name behind its %", t);
      return t;
    }
    if (is_digit(c) || c == '-' || c == '+') {
      // inf and exponents included; constants read them again according to their type.
      t.kind = Token::number;
      t.text = take([](char d) { return is_name(d) || d == '.' || d == '-' || d == '+'; });
      return t;
    }
    if (is_name(c)) {
      t.kind = Token::word;
      t.text = take(is_name);
      return t;
    }
    t.kind = Token::symbol;
    t.text = c;
    step();
    return t;
  }

 private:
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_name(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }

  template <class F>
  std::string take(F belongs) {
    const std::size_t first = at_;
    while (at_ < text_.size() && belongs(text_[at_])) step();
    return std::string(text_.substr(first, at_ - first));
  }

  Token string(Token t) {
    t.kind = Token::string;
    step();
    while (true) {
      if (at_ == text_.size() || text_[at_] == '\n') fail("a string is not closed on its line", t);
      char c = text_[at_];
      step();
      if (c == '"') return t;
      if (c == '\\' && at_ < text_.size()) {
        c = text_[at_] == 'n' ? '\n' : text_[at_];
        step();
      }
      t.text += c;
    }
  }

  void skip() {
    while (at_ < text_.size()) {
      if (text_.substr(at_, 2) == "//") {
        while (at_ < text_.size() && text_[at_] != '\n') step();
      } else if (std::isspace(static_cast<unsigned char>(text_[at_]))) {
        step();
      } else {
        return;
      }
    }
  }

  void step() {
    if (text_[at_++] == '\n') {
      ++line_;
      column_ = 1;
    } else {
      ++column_;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  int column_ = 1;
};

std::optional<DType> dtype_called(std::string_view text) {
  for (int t = 0; t <= static_cast<int>(DType::f64); ++t) {
    if (gnomon::name(static_cast<DType>(t)) == text) return static_cast<DType>(t);
  }
  return std::nullopt;
}

std::optional<Op> op_called(std::string_view text) {
  for (std::size_t op = 0; op < op_count; ++op) {
    if (name(static_cast<Op>(op)) == text) return static_cast<Op>(op);
  }
  return std::nullopt;
}

template <class T>
bool read(std::string_view text, T& x) {
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  return error == std::errc() && end == text.data() + text.size();
}

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) { advance(); }

  Kernel kernel() {
    word("kernel");
    kernel_.name = expect(Token::string, "a kernel's name in quotes").text;
    while (!is("{")) attribute();
    symbol("{");
    while (token_.kind == Token::word &&
           (token_.text == "buffer" || token_.text == "private" || token_.text == "shared")) {
      declaration();
    }
    instructions(kernel_.body);
    symbol("}");
    if (token_.kind != Token::end) fail("text behind the kernel: " + shown(token_), token_);
    return std::move(kernel_);
  }

 private:
  // ---- tokens

  Token advance() {
    Token before = std::move(token_);
    token_ = lexer_.next();
    return before;
  }

  bool is(std::string_view text) const {
    return (token_.kind == Token::symbol || token_.kind == Token::word) && token_.text == text;
  }

  bool accept(std::string_view text) {
    if (!is(text)) return false;
    advance();
    return true;
  }

  Token expect(Token::Kind kind, const std::string& what) {
    if (token_.kind != kind) fail("expected " + what + ", found " + shown(token_), token_);
    return advance();
  }

  void symbol(const std::string& s) {
    if (token_.kind != Token::symbol || token_.text != s) {
      fail("expected `" + s + "`, found " + shown(token_), token_);
    }
    advance();
  }

  void word(const std::string& s) {
    if (token_.kind != Token::word || token_.text != s) {
      fail("expected `" + s + "`, found " + shown(token_), token_);
    }
    advance();
  }

  template <class T>
  T unsigned_number() {
    const Token t = expect(Token::number, "a number");
    T x{};
    if (!read(t.text, x)) fail(shown(t) + " is no number that fits here", t);
    return x;
  }

  // ---- declarations

  void attribute() {
    const Token t = expect(Token::word, "`lanes`, `group`, `parameters` or `{`");
    symbol("=");
    if (t.text == "lanes") {
      kernel_.lanes = unsigned_number<std::uint32_t>();
    } else if (t.text == "group") {
      kernel_.group_size = unsigned_number<std::uint32_t>();
    } else if (t.text == "parameters") {
      kernel_.parameters = unsigned_number<std::uint32_t>();
    } else {
      fail("a kernel has no attribute " + shown(t), t);
    }
  }

  DType dtype() {
    const Token t = expect(Token::word, "a type");
    const auto found = dtype_called(t.text);
    if (!found) fail("there is no type " + shown(t), t);
    return *found;
  }

  Type type() {
    const Token t = expect(Token::word, "a type");
    const std::size_t x = t.text.rfind('x');
    std::string scalar = t.text;
    Type result;
    if (x != std::string::npos) {
      scalar = t.text.substr(0, x);
      if (!read(std::string_view(t.text).substr(x + 1), result.width)) {
        fail("there is no type " + shown(t), t);
      }
    }
    const auto found = dtype_called(scalar);
    if (!found) fail("there is no type " + shown(t), t);
    result.scalar = *found;
    return result;
  }

  void number_in_order(const char* kind, std::size_t expected) {
    const Token t = token_;
    if (unsigned_number<std::uint32_t>() != expected) {
      fail(std::string(kind) + " " + t.text + " comes where " + std::to_string(expected) +
               " is due; they are numbered from 0 in order",
           t);
    }
  }

  void declaration() {
    const Token kind = advance();
    if (kind.text == "buffer") {
      number_in_order("buffer", kernel_.buffers.size());
      Buffer b;
      b.name = expect(Token::string, "a buffer's name in quotes").text;
      symbol(":");
      b.dtype = dtype();
      const Token access = expect(Token::word, "`read`, `write` or `read_write`");
      if (access.text == "read") {
        b.access = Access::read;
      } else if (access.text == "write") {
        b.access = Access::write;
      } else if (access.text == "read_write") {
        b.access = Access::read_write;
      } else {
        fail("expected `read`, `write` or `read_write`, found " + shown(access), access);
      }
      b.coherent = accept("coherent");
      b.texel = accept("texel");
      b.history = accept("history");
      kernel_.buffers.push_back(std::move(b));
      return;
    }
    std::vector<LocalArray>& list = kind.text == "private" ? kernel_.privates : kernel_.shareds;
    number_in_order(kind.text.c_str(), list.size());
    symbol(":");
    LocalArray a;
    a.dtype = dtype();
    symbol("[");
    a.length = unsigned_number<std::uint32_t>();
    symbol("]");
    a.history = accept("history");
    list.push_back(a);
  }

  // ---- instructions

  Value define() {
    const Token t = expect(Token::value, "a value");
    symbol(":");
    const Value v{static_cast<std::uint32_t>(kernel_.types.size())};
    kernel_.types.push_back(type());
    if (!values_.emplace(t.text, v).second) fail(shown(t) + " is defined twice", t);
    return v;
  }

  Value use() {
    const Token t = expect(Token::value, "a value");
    const auto found = values_.find(t.text);
    if (found == values_.end()) fail(shown(t) + " is used but not defined above", t);
    return found->second;
  }

  std::uint64_t constant_value(DType t) {
    const Token at = advance();
    if (t == DType::boolean && at.kind == Token::word) {
      if (at.text == "true") return 1;
      if (at.text == "false") return 0;
    }
    if (at.text.rfind("0x", 0) == 0) {
      std::uint64_t bits = 0;
      const char* last = at.text.data() + at.text.size();
      const auto [end, error] = std::from_chars(at.text.data() + 2, last, bits, 16);
      if (error == std::errc() && end == last && (bits_of(t) == 64 || bits >> bits_of(t) == 0))
        return bits;
    } else if (is_signed(t)) {
      std::int64_t x = 0;
      const std::uint32_t unused = 64 - bits_of(t);
      if (read(at.text, x) &&
          static_cast<std::int64_t>(static_cast<std::uint64_t>(x) << unused) >> unused == x) {
        return static_cast<std::uint64_t>(x) << unused >> unused;
      }
    } else if (is_unsigned(t)) {
      std::uint64_t x = 0;
      if (read(at.text, x) && (bits_of(t) == 64 || x >> bits_of(t) == 0)) return x;
    } else if (t == DType::f32) {
      float x = 0;
      if (read(at.text, x)) return from_double(t, x);
    } else if (is_float(t)) {
      double x = 0;
      if (read(at.text, x)) return from_double(t, x);
    }
    fail(shown(at) + " is no constant of type " + std::string(gnomon::name(t)), at);
  }

  Instruction instruction() {
    Instruction i;
    // Results come before what they are computed from, so their names must not be visible in it.
    std::vector<std::pair<Token, Type>> results;
    if (token_.kind == Token::value) {
      do {
        Token t = expect(Token::value, "a value");
        symbol(":");
        results.emplace_back(std::move(t), type());
      } while (accept(","));
      symbol("=");
    }
    const Token op = expect(Token::word, "an instruction");
    const auto found = op_called(op.text);
    if (!found) fail("there is no instruction " + shown(op), op);
    i.op = *found;
    i.exact = accept("exact");
    if (i.op == Op::loop) {
      loop(i);
    } else if (i.op == Op::if_) {
      i.operands = {use()};
      i.regions.resize(2);
      block(i.regions[0]);
      if (accept("else")) block(i.regions[1]);
    } else {
      if (i.op == Op::constant) {
        if (results.size() != 1) fail("a constant has one result", op);
        i.immediate = constant_value(results[0].second.scalar);
      } else if (token_.kind == Token::number) {
        i.immediate = unsigned_number<std::uint64_t>();
      }
      while (token_.kind == Token::value && !defines()) i.operands.push_back(use());
    }
    for (const auto& [t, result_type] : results) {
      const Value v{static_cast<std::uint32_t>(kernel_.types.size())};
      kernel_.types.push_back(result_type);
      if (!values_.emplace(t.text, v).second) fail(shown(t) + " is defined twice", t);
      i.results.push_back(v);
    }
    return i;
  }

  /// Whether the value ahead starts the next instruction rather than being an operand of this one.
  bool defines() const {
    Lexer ahead = lexer_;
    const Token t = ahead.next();
    return t.kind == Token::symbol && t.text == ":";
  }

  void loop(Instruction& i) {
    i.regions.resize(2);
    symbol("(");
    while (!is(")")) {
      if (!i.operands.empty()) symbol(",");
      i.regions[0].arguments.push_back(define());
      symbol("=");
      i.operands.push_back(use());
    }
    symbol(")");
    if (accept("max")) {
      symbol("=");
      i.immediate = unsigned_number<std::uint64_t>();
    }
    block(i.regions[0]);
    word("do");
    symbol("(");
    while (!is(")")) {
      if (!i.regions[1].arguments.empty()) symbol(",");
      i.regions[1].arguments.push_back(define());
    }
    symbol(")");
    block(i.regions[1]);
  }

  void block(Region& r) {
    symbol("{");
    instructions(r);
    if (accept("yield")) {
      while (token_.kind == Token::value) r.yields.push_back(use());
    }
    symbol("}");
  }

  void instructions(Region& r) {
    while (!is("}") && !is("yield")) {
      if (token_.kind == Token::end)
        fail("expected an instruction or `}`, found " + shown(token_), token_);
      r.body.push_back(instruction());
    }
  }

  Lexer lexer_;
  Token token_;
  Kernel kernel_;
  std::unordered_map<std::string, Value> values_;
};

}  // namespace

Kernel parse_kernel(std::string_view text) { return Parser(text).kernel(); }

}  // namespace gnomon::kernel
