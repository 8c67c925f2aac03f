// samples/common/platform.h -- what samples ask of the system around their subject.
#pragma once
#include <cstdio>
#include <string>

namespace sample {

/// A command that reads what is written ("w"), or whose output is read ("r"); null if there is no
/// shell.
std::FILE* open_pipe(const std::string& command, const char* mode);
/// 0 if the command returned 0.
int close_pipe(std::FILE*);

/// Where commands of gnuplot are written; null where it is not installed.
std::FILE* open_plot();
/// Whether gnuplot took all of them.
bool close_plot(std::FILE*);

/// Whether somebody looks at it.
bool is_terminal(std::FILE*);

/// The file of this program; `argument` is argv[0], for systems that do not say.
std::string own_program(const char* argument);
/// The number of this process.
int process_number();
/// As a shell sets it.
void set_variable(const char* name, const char* value);

}  // namespace sample
