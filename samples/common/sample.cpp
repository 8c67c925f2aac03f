// samples/common/sample.cpp -- what every sample does around its subject.
#include "samples/common/sample.h"

#include <gnomon/error.h>
#include <gnomon/runtime.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "samples/common/platform.h"

namespace sample {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

File open(const std::string& path) {
  File file(std::fopen(path.c_str(), "wb"), &std::fclose);
  if (!file) throw gnomon::FileError("cannot write " + path);
  return file;
}

}  // namespace

Settings::Settings(const char* about) : parser_(std::make_unique<CLI::App>(about)) {}
Settings::~Settings() = default;

template <class T>
void Settings::add(const char* name, T& value, const char* text) {
  parser_->add_option(name, value, text);
}
template <class T>
void Settings::add(const char* name, T& value, const char* text, std::type_identity_t<T> least,
                   std::type_identity_t<T> most) {
  parser_->add_option(name, value, text)->check(CLI::Range(least, most));
}
template void Settings::add(const char*, int&, const char*);
template void Settings::add(const char*, int&, const char*, int, int);
template void Settings::add(const char*, float&, const char*);
template void Settings::add(const char*, float&, const char*, float, float);
template void Settings::add(const char*, std::int64_t&, const char*);
template void Settings::add(const char*, std::int64_t&, const char*, std::int64_t, std::int64_t);
template void Settings::add(const char*, std::uint64_t&, const char*);
template void Settings::add(const char*, std::uint64_t&, const char*, std::uint64_t, std::uint64_t);

void Settings::add(const char* name, std::string& value, const char* text) {
  parser_->add_option(name, value, text);
}
void Settings::add(const char* name, bool& value, const char* text) {
  parser_->add_flag(name, value, text);
}

int run(Settings& settings, int argc, char** argv,
        const std::function<bool(gnomon::Runtime&)>& body) {
  return run(settings, argc, argv, {}, body);
}

int run(Settings& settings, int argc, char** argv, const gnomon::RuntimeOptions& options,
        const std::function<bool(gnomon::Runtime&)>& body) {
  return run_without(settings, argc, argv, [&] {
    gnomon::Runtime rt(options);
    std::printf("device: %s\n", rt.device_name().c_str());
    return body(rt);
  });
}

int run_without(Settings& settings, int argc, char** argv, const std::function<bool()>& body) {
  CLI::App& parser = settings.parser();
  try {
    parser.parse(argc, argv);
    return body() ? 0 : 1;
  } catch (const CLI::ParseError& e) {
    return parser.exit(e) == 0 ? 0 : 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
}

void progress(const std::string& line) {
  if (!is_terminal(stderr)) return;
  std::fprintf(stderr, "\r%-78s%s", line.c_str(), line.empty() ? "\r" : "");
}

double milliseconds_of(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

bool check(bool right, const char* what) {
  std::printf("%s: %s\n", right ? "ok" : "WRONG", what);
  return right;
}

void write_csv(const std::string& path, const std::vector<Column>& columns) {
  const File file = open(path);
  std::size_t rows = 0;
  for (const Column& c : columns) {
    std::fprintf(file.get(), "%s%s", &c == columns.data() ? "" : ",", c.name.c_str());
    rows = std::max(rows, c.values.size());
  }
  for (std::size_t i = 0; i < rows; ++i)
    for (const Column& c : columns) {
      std::fputs(&c == columns.data() ? "\n" : ",", file.get());
      if (i < c.values.size()) std::fprintf(file.get(), "%.7g", c.values[i]);
    }
  std::fputs("\n", file.get());
}

void write_floats(const std::string& path, const std::vector<float>& values) {
  const File file = open(path);
  std::fwrite(values.data(), sizeof(float), values.size(), file.get());
}

void draw(const std::string& png, const std::string& commands, Size size) {
  std::FILE* const gnuplot = open_plot();
  if (gnuplot)
    std::fprintf(gnuplot,
                 "set terminal pngcairo size %d,%d font 'sans,11'\nset output '%s'\n"
                 "set datafile separator ','\n%s\n",
                 size.width, size.height, png.c_str(), commands.c_str());
  if (close_plot(gnuplot))
    std::printf("picture: %s\n", png.c_str());
  else
    std::printf("no picture: gnuplot is not installed\n");
}

}  // namespace sample
