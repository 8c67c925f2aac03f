// engine/command/programs.h -- compile, and run, show and bench of program files.
#pragma once
#include <string>
#include <vector>

namespace gnomon {

struct Profile;  // gnomon/profile.h

struct CompileFiles {
  std::vector<std::string> graphs;  // each becomes a function called as its file
  std::string out, header;
  std::vector<std::string> targets = {"device"};
};
/// Throws FileError and UsageError; writes nothing then.
void compile_files(const CompileFiles&);

struct RunFile {
  std::string file, out, entry, digest, on = "device";
  std::vector<std::string> inputs;
  int repeat = 1;
  bool profile = false;  // print what each kernel takes, on the error output
  std::string trace;     // where to write the same as a Chrome trace; empty: nowhere
};
/// To where the options say. Throws FileError.
void write_profile(const Profile&, const RunFile&);

/// Without a compiler. Throws as aot::load and calls do.
void run_program(const RunFile&);

/// Everything that a file says of its functions, and which of their programs runs here.
std::string program_text(const std::string& path);

struct BenchFile {
  std::string file, entry;
  std::vector<std::string> inputs;  // none: arrays of ones
  int runs = 20;
};
/// Milliseconds of loading or compiling, of the first run, and the median of further ones.
std::string bench_text(const BenchFile&);

}  // namespace gnomon
