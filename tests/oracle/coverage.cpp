// tests/oracle/coverage.cpp -- reads declarations as far as names and parameter types go.
#include "coverage.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace oracle {
namespace {

using Tokens = std::vector<std::string>;

bool word(const std::string& t) {
  return std::isalpha(static_cast<unsigned char>(t[0])) != 0 || t[0] == '_';
}

Tokens tokens_of(const std::string& text) {
  Tokens out;
  std::size_t i = 0;
  bool line_start = true;
  const auto skip_line = [&] {
    while (i < text.size() && text[i] != '\n') i += text[i] == '\\' ? 2 : 1;
  };
  while (i < text.size()) {
    const char c = text[i];
    if (c == '\n') {
      line_start = true;
      ++i;
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++i;
    } else if (c == '#' && line_start) {
      skip_line();
    } else if (text.compare(i, 2, "//") == 0) {
      skip_line();
    } else if (text.compare(i, 2, "/*") == 0) {
      i = text.find("*/", i) + 2;
    } else if (c == '"' || c == '\'') {
      for (++i; text[i] != c; ++i)
        if (text[i] == '\\') ++i;
      ++i;
      out.emplace_back("0");
      line_start = false;
    } else {
      line_start = false;
      std::size_t end = i + 1;
      if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_')
        while (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_') ++end;
      else if (text.compare(i, 2, "::") == 0)
        end = i + 2;
      out.push_back(text.substr(i, end - i));
      i = end;
    }
  }
  return out;
}

/// Behind the bracket that closes the one at `i`.
std::size_t behind(const Tokens& t, std::size_t i) {
  const std::string open = t[i], close = open == "("   ? ")"
                                         : open == "{" ? "}"
                                         : open == "[" ? "]"
                                                       : ">";
  int depth = 0;
  for (; i < t.size(); ++i) {
    if (open == "<" && (t[i] == "(" || t[i] == "{")) {
      i = behind(t, i) - 1;
      continue;
    }
    depth += t[i] == open ? 1 : t[i] == close ? -1 : 0;
    if (depth == 0) return i + 1;
  }
  throw std::runtime_error("a bracket is not closed");
}

/// A requires clause: primaries joined by && and ||.
std::size_t behind_requires(const Tokens& t, std::size_t i) {
  for (++i;;) {
    while (t[i] == "!") ++i;
    if (t[i] == "(") {
      i = behind(t, i);
    } else {
      while (t[i] == "::" ||
             (word(t[i]) && (t[i - 1] == "::" || !word(t[i - 1]) || t[i - 1] == "requires")))
        ++i;
      if (t[i] == "<") i = behind(t, i);
      while (t[i] == "::") i += 2;
    }
    if ((t[i] == "&" && t[i + 1] == "&") || (t[i] == "|" && t[i + 1] == "|"))
      i += 2;
    else
      return i;
  }
}

std::string type_of_parameter(Tokens p) {
  if (const auto value = std::find(p.begin(), p.end(), "="); value != p.end())
    p.erase(value, p.end());
  if (p.size() > 1 && word(p.back()) &&
      (word(p[p.size() - 2]) || p[p.size() - 2] == ">" || p[p.size() - 2] == "&" ||
       p[p.size() - 2] == "*" || p[p.size() - 2] == "."))
    if (p[p.size() - 2] != "const") p.pop_back();
  std::string type;
  for (const std::string& t : p)
    if (t != "const" && t != "&" && t != "std" && t != "::" && t != "gnomon") type += t;
  return type;
}

std::string parameters(const Tokens& t, std::size_t open) {
  const std::size_t close = behind(t, open) - 1;
  std::string types;
  Tokens one;
  const auto finish = [&] {
    const std::string type = one.empty() ? "" : type_of_parameter(one);
    if (!type.empty() && type != "Loc") types += (types.empty() ? "" : ",") + type;
    one.clear();
  };
  for (std::size_t i = open + 1; i < close;) {
    if (t[i] == "<" || t[i] == "(" || t[i] == "{") {
      const std::size_t end = behind(t, i);
      one.insert(one.end(), t.begin() + static_cast<std::ptrdiff_t>(i),
                 t.begin() + static_cast<std::ptrdiff_t>(end));
      i = end;
    } else if (t[i] == ",") {
      finish();
      ++i;
    } else {
      one.push_back(t[i++]);
    }
  }
  finish();
  return "(" + types + ")";
}

/// "name(types)" of a declaration, or "".
std::string function_of(const Tokens& statement, const std::string& inside) {
  Tokens t;
  for (std::size_t i = 0; i < statement.size();) {
    if (statement[i] == "template" && statement[i + 1] == "<")
      i = behind(statement, i + 1);
    else if (statement[i] == "requires")
      i = behind_requires(statement, i);
    else if (statement[i] == "[" && i + 1 < statement.size() && statement[i + 1] == "[")
      i = behind(statement, i);
    else
      t.push_back(statement[i++]);
  }
  if (t.empty()) return "";
  for (const char* other :
       {"using", "static_assert", "friend", "typedef", "enum", "concept", "struct", "class"})
    if (t[0] == other) return "";
  for (std::size_t i = 0; i < t.size(); ++i) {
    if (t[i] == "=") return "";
    if (t[i] == "operator") {
      std::string name = "operator";
      std::size_t open = i + 1;
      if (t[open] == "(") name += "()", open += 2;
      for (; t[open] != "("; ++open) name += t[open];
      // Conversions and assignments are no operations.
      if (word(t[i + 1]) || name == "operator=") return "";
      return name + parameters(t, open);
    }
    if (t[i] == "<") i = behind(t, i) - 1;
    if (t[i] != "(") continue;
    if (i + 1 < t.size() && t[i + 1] == "*") return "";  // a variable that points to a function
    if (i == 0 || !word(t[i - 1]) || t[i - 1] == inside || t[i - 1] == "decltype") return "";
    if (i > 1 && t[i - 2] == "::") return "";  // a member declared before
    return t[i - 1] + parameters(t, i);
  }
  return "";
}

/// Whether a statement has come to the value of a variable.
bool initialised(const Tokens& t) {
  for (std::size_t i = 0; i < t.size();) {
    if (t[i] == "operator") return false;
    if (t[i] == "=") return true;
    i = t[i] == "(" ? behind(t, i) : i + 1;
  }
  return false;
}

struct Reader {
  const Tokens& t;
  std::string header;
  std::vector<Declared>& out;

  /// Declarations up to the closing brace of a namespace or class.
  std::size_t read(std::size_t i, const std::string& scope, const std::string& inside, bool visible,
                   bool outer = true) {
    Tokens statement;
    while (i < t.size() && t[i] != "}") {
      if (!inside.empty() && i + 1 < t.size() && t[i + 1] == ":" &&
          (t[i] == "public" || t[i] == "private" || t[i] == "protected")) {
        visible = outer && t[i] == "public";
        i += 2;
      } else if (t[i] == ";") {
        finish(statement, scope, inside, visible);
        ++i;
      } else if (t[i] == "(") {
        const std::size_t end = behind(t, i);
        statement.insert(statement.end(), t.begin() + static_cast<std::ptrdiff_t>(i),
                         t.begin() + static_cast<std::ptrdiff_t>(end));
        i = end;
      } else if (t[i] == "{") {
        i = block(i, statement, scope, inside, visible);
      } else {
        statement.push_back(t[i++]);
      }
    }
    return i + 1;
  }

  std::size_t block(std::size_t i, Tokens& statement, const std::string& scope,
                    const std::string& inside, bool visible) {
    const auto has = [&](const char* what) {
      return std::find(statement.begin(), statement.end(), what) != statement.end();
    };
    if (has("namespace")) {
      std::string name = scope;
      bool hidden = statement.back() == "namespace";
      for (const std::string& s : statement)
        if (word(s) && s != "namespace" && s != "inline" && s != "gnomon")
          name += s + "::", hidden = hidden || s == "detail";
      statement.clear();
      return read(i + 1, name, "", visible && !hidden);
    }
    if ((has("class") || has("struct")) && !has("(") && !has("enum") && !has("=")) {
      std::string name;
      for (std::size_t k = 0; k + 1 < statement.size(); ++k)
        if ((statement[k] == "class" || statement[k] == "struct") &&
            (k == 0 || (statement[k - 1] != "<" && statement[k - 1] != ","))) {
          name = statement[k + 1];
          break;
        }
      const bool open = has("struct");
      statement.clear();
      return read(i + 1, scope + name + "::", name, visible && open, visible);
    }
    if (initialised(statement)) return behind(t, i);  // the value goes on
    finish(statement, scope, inside, visible);
    i = behind(t, i);
    while (i < t.size() && t[i] == ";") ++i;
    return i;
  }

  void finish(Tokens& statement, const std::string& scope, const std::string& inside,
              bool visible) {
    // An initialiser list of a constructor ends in braces of its own.
    const std::string name = visible ? function_of(statement, inside) : "";
    if (!name.empty()) out.push_back({scope + name, header});
    statement.clear();
  }
};

struct Exemption {
  const char* pattern;
  const char* reason;
};
#include "exemptions.inc"

bool matches(const std::string& pattern, const std::string& name) {
  if (pattern.back() != '*') return name == pattern;
  return name.compare(0, pattern.size() - 1, pattern, 0, pattern.size() - 1) == 0;
}

}  // namespace

std::vector<Declared> declared_functions(const std::string& text, const std::string& header) {
  std::vector<Declared> out;
  const Tokens tokens = tokens_of(text);
  for (std::size_t i = 0; i < tokens.size();) i = Reader{tokens, header, out}.read(i, "", "", true);
  return out;
}

std::vector<Declared> public_functions(const std::string& root) {
  std::vector<Declared> all;
  for (const char* folder : {"/codegen/include/gnomon", "/engine/include/gnomon"}) {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root + folder))
      if (entry.is_regular_file() && entry.path().parent_path().filename() != "detail")
        paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    for (const auto& path : paths) {
      std::ifstream file(path);
      std::stringstream text;
      text << file.rdbuf();
      try {
        const auto found = declared_functions(text.str(), path.filename().string());
        all.insert(all.end(), found.begin(), found.end());
      } catch (const std::exception& e) {
        throw std::runtime_error(path.string() + ": " + e.what());
      }
    }
  }
  std::map<std::string, std::set<std::string>> overloads;
  const auto plain = [](const std::string& s) {
    const std::size_t from =
        s.find("operator()") == std::string::npos ? 0 : s.find("operator()") + 10;
    return s.substr(0, s.find('(', from));
  };
  for (const Declared& d : all) overloads[plain(d.name)].insert(d.name);
  std::vector<Declared> unique;
  std::set<std::string> seen;
  for (Declared& d : all) {
    if (overloads[plain(d.name)].size() == 1) d.name = plain(d.name);
    if (seen.insert(d.name).second) unique.push_back(d);
  }
  return unique;
}

std::string reason_for_none(const std::string& name) {
  for (const Exemption& e : exemptions)
    if (matches(e.pattern, name)) return e.reason;
  return "";
}

std::string reason_for_unreached(const std::string& primitive) {
  for (const Exemption& e : unreached)
    if (matches(e.pattern, primitive)) return e.reason;
  return "";
}

std::vector<std::string> idle_exemptions(const std::vector<Declared>& functions) {
  std::vector<std::string> idle;
  for (const Exemption& e : exemptions)
    if (std::none_of(functions.begin(), functions.end(),
                     [&](const Declared& d) { return matches(e.pattern, d.name); }))
      idle.emplace_back(e.pattern);
  return idle;
}

std::set<std::string> covered(const std::vector<Family>& families) {
  std::set<std::string> names;
  const auto add = [&](std::string_view several) {
    std::istringstream words{std::string(several)};
    for (std::string name; words >> name;) names.insert(name);
  };
  for (const Family& f : families) {
    for (const auto& row : f.elementwise) add(row.names);
    for (const auto& row : f.exact) add(row.names);
    for (const auto& row : f.whole) add(row.names);
    for (const auto& row : f.general) add(row.names);
    for (const auto& row : f.drawn) add(row.names);
  }
  return names;
}

}  // namespace oracle
