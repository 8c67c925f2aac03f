// tests/structure/function_lengths.cpp -- see function_lengths.h.
#include "tests/structure/function_lengths.h"

#include <algorithm>
#include <cctype>
#include <regex>

namespace gnomon::structure {
namespace {

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The text with spaces for comments, literals and what the preprocessor reads; lines stay.
std::string code_of(std::string_view source) {
  std::string code(source);
  const auto at = [&](std::size_t i) { return i < source.size() ? source[i] : '\n'; };
  const auto blank = [&](std::size_t from, std::size_t end) {
    for (std::size_t i = from; i < std::min(end, code.size()); ++i)
      if (code[i] != '\n') code[i] = ' ';
    return std::min(end, code.size());
  };
  const auto behind = [&](std::string_view end, std::size_t from) {
    const std::size_t found = source.find(end, from);
    return found == source.npos ? source.size() : found + end.size();
  };
  const auto unescaped = [&](char end, std::size_t i) {
    while (i < source.size() && source[i] != end) i += source[i] == '\\' ? 2 : 1;
    return i + 1;
  };
  bool line_begins = true;
  for (std::size_t i = 0; i < source.size();) {
    const char c = source[i];
    if (c == '/' && at(i + 1) == '/') {
      i = blank(i, source.find('\n', i));
    } else if (c == '/' && at(i + 1) == '*') {
      i = blank(i, behind("*/", i + 2));
    } else if (c == '#' && line_begins) {
      std::size_t end = i;
      while (end < source.size() && source[end] != '\n') end += source[end] == '\\' ? 2 : 1;
      i = blank(i, end);
    } else if (c == 'R' && at(i + 1) == '"' && (i == 0 || !in_word(source[i - 1]))) {
      const std::size_t open = source.find('(', i);
      const std::string end = ")" + std::string(source.substr(i + 2, open - i - 2)) + "\"";
      i = blank(i, behind(end, open));
    } else if (c == '"' || (c == '\'' && (i == 0 || !in_word(source[i - 1])))) {
      i = blank(i, unescaped(c, i + 1));
    } else {
      line_begins = c == '\n' || (line_begins && c == ' ');
      ++i;
    }
  }
  return code;
}

enum class Scope { declarations, function, other };

/// What the brace behind `head` opens, in a scope of declarations.
Scope opened_by(const std::string& head) {
  static const std::regex holds_declarations(
      R"(^\s*((public|private|protected)\s*:\s*)*(inline\s+)?(namespace|class|struct|union|enum|extern)\b)");
  if (std::regex_search(head, holds_declarations)) return Scope::declarations;
  // Nothing is assigned in front of a body but what parentheses hold.
  int depth = 0;
  bool assigns = false;
  for (char c : head) {
    depth += (c == '(') - (c == ')');
    assigns |= c == '=' && depth == 0;
  }
  const bool calls = head.find('(') != head.npos;
  return calls && (!assigns || head.find("operator") != head.npos) ? Scope::function : Scope::other;
}

std::string without_template(const std::string& head) {
  static const std::regex prefix(R"(^[\s\S]*?\btemplate\s*<)");
  std::smatch found;
  if (!std::regex_search(head, found, prefix)) return head;
  std::size_t i = static_cast<std::size_t>(found.length());
  for (int depth = 1; i < head.size() && depth > 0; ++i)
    depth += (head[i] == '<') - (head[i] == '>');
  return without_template(head.substr(i));
}

}  // namespace

std::vector<Function> functions_of(std::string_view source) {
  struct Open {
    Scope scope;
    std::size_t found;  // the function, if it is one
  };
  std::vector<Function> found;
  std::vector<Open> open;
  std::string head;
  int line = 1, parentheses = 0;
  for (char c : code_of(source)) {
    const bool declares = open.empty() || open.back().scope == Scope::declarations;
    line += c == '\n';
    if (declares) parentheses += (c == '(') - (c == ')');
    if (c == '{') {
      head = without_template(head);
      const Scope scope = declares && parentheses == 0 ? opened_by(head) : Scope::other;
      if (scope == Scope::function) {
        static const std::regex name(R"(((\w|::|~)+|operator[^(]*(\(\))?)\s*\()");
        std::smatch match;
        std::regex_search(head, match, name);
        found.push_back({match[1], line, 0});
      }
      open.push_back({scope, found.size() - 1});
    } else if (c == '}' && !open.empty()) {
      if (open.back().scope == Scope::function)
        found[open.back().found].lines = line - found[open.back().found].line;
      open.pop_back();
    }
    if (!declares) continue;
    // Braces in parentheses are of default arguments.
    if (parentheses == 0 && (c == '{' || c == '}' || c == ';'))
      head.clear();
    else
      head += c;
  }
  return found;
}

}  // namespace gnomon::structure
