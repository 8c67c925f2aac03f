// samples/common/platform.cpp -- the one file of the samples that knows systems apart.
#include "samples/common/platform.h"

#include <cstdlib>
#include <filesystem>

#ifdef _WIN32
#include <io.h>
#include <process.h>
#else
#include <unistd.h>
#endif

namespace sample {

#ifdef _WIN32

std::FILE* open_pipe(const std::string& command, const char* mode) {
  // cmd takes the outermost quotes away.
  return _popen(("\"" + command + "\"").c_str(), mode);
}
int close_pipe(std::FILE* pipe) { return _pclose(pipe); }

std::FILE* open_plot() {
  if (std::system("where gnuplot > NUL 2>&1") != 0) return nullptr;
  return open_pipe("gnuplot > NUL 2>&1", "w");
}

bool is_terminal(std::FILE* file) { return _isatty(_fileno(file)) != 0; }

std::string own_program(const char* argument) {
  return std::filesystem::absolute(argument).string();
}
int process_number() { return _getpid(); }
void set_variable(const char* name, const char* value) { _putenv_s(name, value); }

#else

std::FILE* open_pipe(const std::string& command, const char* mode) {
  return popen(command.c_str(), mode);
}
int close_pipe(std::FILE* pipe) { return pclose(pipe); }

std::FILE* open_plot() {
  if (std::system("command -v gnuplot > /dev/null 2>&1") != 0) return nullptr;
  return open_pipe("gnuplot > /dev/null 2>&1", "w");
}

bool is_terminal(std::FILE* file) { return isatty(fileno(file)) != 0; }

std::string own_program(const char* argument) {
  std::error_code error;
  const auto own = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::absolute(argument).string() : own.string();
}
int process_number() { return getpid(); }
void set_variable(const char* name, const char* value) { setenv(name, value, 1); }

#endif

bool close_plot(std::FILE* plot) { return plot != nullptr && close_pipe(plot) == 0; }

}  // namespace sample
