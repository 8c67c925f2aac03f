// tests/structure/structure_test.cpp -- the tree keeps its floors: includes, headers, sizes.
#include "tests/structure/function_lengths.h"
#include "tests/structure/include_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace gnomon::structure {
namespace {

namespace fs = std::filesystem;

const fs::path root = GNOMON_ROOT_DIR;

struct Source {
  std::string path;  // from the root, with forward slashes
  std::string text;
};

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<Source> sources(const std::vector<std::string>& folders) {
  std::vector<Source> found;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const fs::path extension = entry.path().extension();
      if (!entry.is_regular_file() || (extension != ".h" && extension != ".cpp")) continue;
      found.push_back({fs::relative(entry.path(), root).generic_string(), read(entry.path())});
    }
  }
  std::ranges::sort(found, {}, &Source::path);
  return found;
}

std::vector<Source> floors() { return sources({"shaders", "codegen", "engine", "samples"}); }

// Lists the violations of one source, each as `file:line: what`.
std::vector<std::string> violations(const Source& source) {
  std::vector<std::string> found;
  for (const Include& include : includes_of(source.text)) {
    std::string floor = "engine";
    for (const char* lower : {"shaders", "codegen"})
      if (fs::exists(root / lower / "include" / include.path)) floor = lower;
    if (const auto what = violation(source.path, include.path, floor)) {
      found.push_back(source.path + ":" + std::to_string(include.line) + ": " + *what);
    }
  }
  return found;
}

TEST(Structure, IncludesPointDownTheFloors) {
  const auto all = floors();
  ASSERT_FALSE(all.empty());
  for (const Source& source : all) {
    for (const std::string& what : violations(source)) ADD_FAILURE() << what;
  }
}

TEST(Structure, APlantedIncludeThatPointsUpIsFound) {
  const std::vector<Source> planted = {
      {"shaders/kernel/a.h", "#include \"codegen/graph/graph.h\"\n"},
      {"shaders/kernel/a.h", "#include <gnomon/runtime.h>\n"},
      {"codegen/graph/a.cpp", "#  include \"engine/vulkan/device.h\"\n"},
      {"codegen/graph/a.cpp", "#include <vulkan/vulkan.h>\n"},
      {"codegen/emit/a.cpp", "#include <spirv/unified1/spirv.hpp>\n"},
      {"codegen/graph/a.h", "#include \"codegen/emit/emitter.h\"\n"},
      {"codegen/lax/a.cpp", "#include \"codegen/primitives/families.h\"\n"},
      {"codegen/primitives/families.h", "#include \"codegen/primitives/linalg/fft.h\"\n"},
      {"shaders/kernel/a.h", "#include \"shaders/spirv/emit.h\"\n"},
      {"engine/vulkan/a.cpp", "#include \"engine/runtime/runtime.h\"\n"},
      {"engine/runtime/a.cpp", "#include <volk.h>\n"},
      {"engine/runtime/a.cpp", "#include \"engine/jit/jit.h\"\n"},
      {"engine/runtime/a.cpp", "#include \"codegen/compile/pipeline.h\"\n"},
      {"engine/runtime/a.cpp", "#include \"codegen/graph/graph.h\"\n"},
      {"engine/vulkan/a.cpp", "#include \"codegen/modules/module.h\"\n"},
      {"codegen/program/a.cpp", "#include \"codegen/graph/graph.h\"\n"},
      {"codegen/program/a.cpp", "#include \"shaders/kernel/builder.h\"\n"},
      {"engine/jit/a.cpp", "#include \"shaders/kernel/kernel.h\"\n"},
      {"engine/library/a.cpp", "#include \"codegen/graph/graph.h\"\n"},
      {"samples/a/main.cpp", "#include \"engine/runtime/runtime.h\"\n"},
      {"samples/a/main.cpp", "/* why */\n#include \"codegen/graph/graph.h\"\n"},
      {"shaders/spirv/a.cpp", "#include <glslang/Public/ShaderLang.h>\n"},
  };
  for (const Source& source : planted) {
    EXPECT_EQ(violations(source).size(), 1u) << source.path << ": " << source.text;
  }
}

TEST(Structure, IncludesThatPointDownAreAccepted) {
  const std::vector<Source> fine = {
      {"shaders/spirv/a.cpp", "#include <spirv/unified1/spirv.hpp>\n#include <vector>\n"},
      {"codegen/emit/a.cpp", "#include \"shaders/kernel/kernel.h\"\n"},
      {"codegen/primitives/linalg/a.cpp", "#include \"codegen/primitives/families.h\"\n"},
      {"engine/vulkan/a.cpp", "#include <volk.h>\n#include \"codegen/program/target.h\"\n"},
      {"engine/runtime/a.cpp", "#include \"engine/vulkan/device.h\"\n"},
      {"samples/a/main.cpp", "#include <gnomon/gnomon.h>\n#include \"samples/a/table.h\"\n"},
      {"shaders/a.h", "/* the way up is\n#include \"codegen/graph/graph.h\"\n*/\n"},
      {"shaders/a.h", "// #include \"codegen/graph/graph.h\"\n"},
  };
  for (const Source& source : fine) EXPECT_EQ(violations(source), std::vector<std::string>{});
}

TEST(Structure, EveryFolderHasItsPlaceInTheOrderOfRooms) {
  for (const Source& source : sources({"shaders", "codegen", "engine"}))
    if (!source.path.starts_with("engine/library/")) {
      EXPECT_TRUE(has_room(source.path)) << source.path;
    }
  EXPECT_FALSE(has_room("codegen/attic/a.cpp"));
  EXPECT_FALSE(has_room("codegen/graph/attic/a.cpp"));
}

TEST(Structure, PublicHeadersIncludePublicHeadersOnly) {
  Texts files;
  for (Source& source : floors()) files.emplace(source.path, std::move(source.text));
  std::size_t headers = 0;
  for (const auto& [path, text] : files) {
    if (!is_public(path)) continue;
    ++headers;
    EXPECT_EQ(not_installed(files, path), std::vector<std::string>{});
  }
  EXPECT_GT(headers, 100u);
}

TEST(Structure, APlantedIncludeOfAPrivateHeaderIsFoundThroughOthers) {
  const Texts files = {
      {"engine/include/gnomon/a.h", "#include \"gnomon/b.h\"\n"},
      {"codegen/include/gnomon/b.h", "#include <vector>\n#include \"shaders/c.h\"\n"},
      {"shaders/c.h", "#include <stdint.h>\n#include <boost/d.hpp>\n"},
      {"engine/include/gnomon/e.h", "#include <gnomon/f.h>\n#include <string>\n"},
      {"shaders/include/gnomon/f.h", "#include <stdint.h>\n"},
  };
  EXPECT_EQ(not_installed(files, "engine/include/gnomon/a.h"),
            (std::vector<std::string>{
                "engine/include/gnomon/a.h -> gnomon/b.h -> shaders/c.h",
                "engine/include/gnomon/a.h -> gnomon/b.h -> shaders/c.h -> boost/d.hpp"}));
  EXPECT_EQ(not_installed(files, "engine/include/gnomon/e.h"), std::vector<std::string>{});
}

TEST(Structure, PublicHeadersExportWhatTheyDeclare) {
  for (const Source& source : floors()) {
    if (!is_public(source.path) || !source.path.ends_with(".h")) continue;
    const std::size_t from = source.text.find("\n#pragma GCC visibility push(default)\n");
    const std::size_t first = source.text.find("\nnamespace ");
    if (first == source.text.npos) continue;
    EXPECT_LT(from, first) << source.path;
    EXPECT_TRUE(source.text.ends_with("\n#pragma GCC visibility pop\n")) << source.path;
  }
}

TEST(Structure, PublicHeadersStayLight) {
  for (const Source& source : floors()) {
    if (!is_public(source.path)) continue;
    for (const Include& include : includes_of(source.text)) {
      for (const char* heavy : {"functional", "map", "iostream", "regex"}) {
        EXPECT_NE(include.path, heavy) << source.path << ":" << include.line;
      }
    }
  }
}

TEST(Structure, EveryFileBeginsWithItsPathAndWhatItOwns) {
  for (const Source& source : sources({"shaders", "codegen", "engine", "samples", "tests"})) {
    const std::string start = "// " + source.path + " -- ";
    EXPECT_TRUE(source.text.starts_with(start)) << "expected `" << start << "...` at the start";
    if (source.path.ends_with(".h")) {
      EXPECT_NE(source.text.find("\n#pragma once\n"), source.text.npos) << source.path;
    }
  }
}

TEST(Structure, NoFileGrowsBeyond600Lines) {
  for (const Source& source : sources({"shaders", "codegen", "engine", "samples", "tests"})) {
    EXPECT_LE(std::ranges::count(source.text, '\n'), 600) << source.path;
  }
}

constexpr int most_lines = 80;  // of a function

/// Functions that are better long than divided.
struct LongFunction {
  const char *path, *name, *reason;
};
constexpr LongFunction long_functions[] = {
    {"codegen/include/gnomon/detail/reflect_tie.h", "tie_members", "a case per number of members"},
    {"engine/library/ode/tableaus.cpp", "dopri8", "the coefficients of one method"},
    {"shaders/spirv/emit_arithmetic.cpp", "Emitter::arithmetic_part",
     "a case per operation, in one switch that a new operation has to extend"},
};

TEST(Structure, NoFunctionGrowsBeyond80Lines) {
  std::size_t functions = 0;
  std::vector<const LongFunction*> found;
  for (const Source& source : sources({"shaders", "codegen", "engine"}))
    for (const Function& f : functions_of(source.text)) {
      ++functions;
      if (f.lines <= most_lines) continue;
      const auto known = std::ranges::find_if(long_functions, [&](const LongFunction& l) {
        return source.path == l.path && f.name == l.name;
      });
      if (known == std::end(long_functions))
        ADD_FAILURE() << source.path << ":" << f.line << ": `" << f.name << "` has " << f.lines
                      << " lines";
      else
        found.push_back(known);
    }
  EXPECT_GT(functions, 5000u);
  for (const LongFunction& l : long_functions)
    EXPECT_EQ(std::ranges::count(found, &l), 1) << l.name << " is no exception any more";
}

TEST(Structure, FunctionsAreMeasuredWhereverTheyStand) {
  const std::string lines(81, '\n');
  const auto measured = [](const std::string& text) {
    std::vector<std::string> r;
    for (const Function& f : functions_of(text))
      r.push_back(f.name + " at " + std::to_string(f.line) + ": " + std::to_string(f.lines));
    return r;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(measured("namespace a {\nint f(int x = {}) {" + lines + "}\n}\n"),
            (Names{"f at 2: 81"}));
  EXPECT_EQ(measured("template <class T = int>\nstruct S {\n  T f() const {" + lines +
                     "  }\n  bool operator==(const S&) const { return true; }\n};\n"),
            (Names{"f at 3: 81", "operator== at 85: 0"}));
  EXPECT_EQ(measured("A::A(int x)\n    : x_(x) {\n  if (x) {" + lines + "  }\n}\n"),
            (Names{"A::A at 2: 83"}));
  // Braces that are none, and digits with separators.
  EXPECT_EQ(measured("void f() {\n// {\n/* { */ g(\"{\", '{', R\"(\"{)\", 1'000);\n}\n"
                     "#define M {\nvoid h() {}\n"),
            (Names{"f at 1: 3", "h at 6: 0"}));
  // Tables, their lambdas included, and types.
  EXPECT_EQ(measured("const T t{\n  [](int x) {" + lines + "  },\n};\n" +
                     "const auto f = [](int) {" + lines + "};\nenum class E { a };\n"),
            Names{});
}

TEST(Structure, ShaderSourcesAreOnlyInTheBench) {
  for (const std::string folder : {"shaders", "codegen", "engine", "samples", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string path = fs::relative(entry.path(), root).generic_string();
      const std::string extension = entry.path().extension().string();
      const bool shader = extension == ".comp" || extension == ".glsl" || extension == ".hlsl";
      EXPECT_TRUE(!shader || path.starts_with("tests/bench/")) << path;
    }
  }
}

TEST(Structure, TheReadmeShowsACompiledProgram) {
  const std::string readme = read(root / "README.md"),
                    program = read(root / "samples/readme/main.cpp");
  const std::size_t begin = readme.find("```cpp\n");
  ASSERT_NE(begin, readme.npos);
  const std::size_t end = readme.find("```", begin + 7);
  ASSERT_NE(end, readme.npos);
  EXPECT_EQ(readme.substr(begin + 7, end - begin - 7), program.substr(program.find('\n') + 1));
}

}  // namespace
}  // namespace gnomon::structure
