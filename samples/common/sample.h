// samples/common/sample.h -- what every sample does around its subject: options, errors, the clock,
// tables and pictures.
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}
namespace gnomon {
class Runtime;
struct RuntimeOptions;
}  // namespace gnomon

namespace sample {

/// Parses the options and calls `body`, which says whether its answer is the known one. What main
/// returns: 0 if it is, 1 if not, 2 when something throws.
int run(CLI::App&, int argc, char** argv, const std::function<bool(gnomon::Runtime&)>& body);
/// The same on a Runtime with these options, as they are when the arguments have been parsed.
int run(CLI::App&, int argc, char** argv, const gnomon::RuntimeOptions&,
        const std::function<bool(gnomon::Runtime&)>& body);

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
