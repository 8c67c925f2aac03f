// samples/common/sample.h -- what every sample does around its subject: options, errors, the clock,
// tables and pictures.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace CLI {
class App;
}
namespace gnomon {
class Runtime;
struct RuntimeOptions;
}  // namespace gnomon

namespace sample {

/// What the command line may set, with `--help` made of it. The parser is known to sample.cpp
/// alone: in each sample it would take longer to compile than the sample itself.
class Settings {
 public:
  explicit Settings(const char* about);
  ~Settings();
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;

  /// A number, between these two where they are given. For int, std::uint64_t (std::size_t),
  /// std::int64_t (Dim) and float.
  template <class T>
  void add(const char* name, T& value, const char* text);
  template <class T>
  void add(const char* name, T& value, const char* text, std::type_identity_t<T> least,
           std::type_identity_t<T> most);
  void add(const char* name, std::string& value, const char* text);
  /// True if it is there.
  void add(const char* name, bool& value, const char* text);

  CLI::App& parser() { return *parser_; }

 private:
  std::unique_ptr<CLI::App> parser_;
};

/// Parses the settings and calls `body`, which says whether its answer is the known one. What main
/// returns: 0 if it is, 1 if not, 2 when something throws.
int run(Settings&, int argc, char** argv, const std::function<bool(gnomon::Runtime&)>& body);
/// The same on a Runtime with these options, as they are when the arguments have been parsed.
int run(Settings&, int argc, char** argv, const gnomon::RuntimeOptions&,
        const std::function<bool(gnomon::Runtime&)>& body);

/// The same where the sample makes its Runtime itself.
int run_without(Settings&, int argc, char** argv, const std::function<bool()>& body);

/// How long a call takes, in milliseconds.
double milliseconds_of(const std::function<void()>&);

/// Prints `what` in a line of its own with "ok" or "WRONG"; gives `right` back.
bool check(bool right, const char* what);

/// How far long work is, in a line that the next one takes the place of; an empty one clears it.
/// Only on a terminal.
void progress(const std::string&);

struct Column {
  std::string name;
  std::vector<double> values;
};
/// A line of names, then a line for each row; the cells of shorter columns stay empty. Throws
/// gnomon::FileError.
void write_csv(const std::string& path, const std::vector<Column>&);
/// Numbers as bytes, for gnuplot's `binary format='%float'`. Throws gnomon::FileError.
void write_floats(const std::string& path, const std::vector<float>&);

struct Size {
  int width = 1200, height = 700;
};
/// Draws a picture by commands of gnuplot, which has been told that columns are parted by commas.
/// Says where it is, or that gnuplot is not there.
void draw(const std::string& png, const std::string& commands, Size = {});

}  // namespace sample
