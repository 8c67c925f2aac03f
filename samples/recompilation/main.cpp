// samples/recompilation/main.cpp -- what makes a jitted function trace or compile again, what
// Gnomon says about it, how to avoid it, and what its caches find all the same.
#include <gnomon/gnomon.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "samples/common/platform.h"
#include "samples/common/sample.h"
#include "samples/recompilation/cases.h"

namespace {

namespace gn = gnomon;

/// What a process had to do.
struct Work {
  unsigned long long compiled = 0, loaded = 0, emitted = 0, new_pipelines = 0;
};
Work work_of(const gn::Runtime& rt) {
  const gn::Counters c = rt.counters();
  return {c.programs_compiled, c.programs_loaded, c.modules_emitted, c.new_pipelines};
}
/// This program again, with the cache that this process has filled.
Work in_another_process(const std::string& own, const std::string& cache, int calls) {
  const std::string command =
      "\"" + own + "\" --child --calls " + std::to_string(calls) + " --cache \"" + cache + "\"";
  Work w{~0ull, 0, 0, 0};
  std::FILE* out = sample::open_pipe(command, "r");
  if (out == nullptr) return w;
  char line[256];
  while (std::fgets(line, sizeof line, out))
    std::sscanf(line, "work %llu %llu %llu %llu", &w.compiled, &w.loaded, &w.emitted,
                &w.new_pipelines);
  sample::close_pipe(out);
  return w;
}

}  // namespace

int main(int argc, char** argv) {
  int calls = 8;
  bool child = false;
  std::vector<std::string> log;
  gn::RuntimeOptions options;
  sample::set_variable("GNOMON_LOG", "retrace");  // as one says it in a shell
  options.on_log = [&](std::string_view line) { log.emplace_back(line); };
  const auto own = std::filesystem::temp_directory_path() /
                   ("gnomon_recompilation_" + std::to_string(sample::process_number()));
  options.cache = own.string();
  sample::Settings settings(
      "What makes a jitted function trace and compile again, and what its caches find.");
  settings.add("--calls", calls, "calls of each case", 4, 100);
  settings.add("--cache", options.cache, "folder of compiled programs, instead of a new one");
  settings.add("--child", child, "only say what there was to do (the other process)");
  const int status = sample::run(settings, argc, argv, options, [&](gn::Runtime& rt) {
    const std::vector<Case> cases = run_all(rt, calls);
    const Work work = work_of(rt);
    if (child) {
      std::printf("work %llu %llu %llu %llu\n", work.compiled, work.loaded, work.emitted,
                  work.new_pipelines);
      return true;
    }
    std::printf("%d calls each           hits shared compiled   us/hit  us/shared us/compiled\n",
                calls);
    std::vector<sample::Column> table{{"case", {}}, {"hit", {}}, {"shared", {}}, {"compiled", {}}};
    std::string tics;
    for (const Case& c : cases) {
      std::printf("%-22s %5zu  %5zu    %5zu %8.0f   %8.0f   %8.0f\n", c.name.c_str(),
                  c.us[hit].size(), c.us[shared].size(), c.us[compiled].size(), c.median(hit),
                  c.median(shared), c.median(compiled));
      tics += (tics.empty() ? "'" : ", '") + c.name + "' " + std::to_string(table[0].values.size());
      table[0].values.push_back(double(table[0].values.size()));
      for (int way = hit; way < ways; ++way)
        table[std::size_t(way) + 1].values.push_back(c.median(Way(way)));
    }
    const std::size_t all = std::size_t(calls);
    const auto said = [&](const char* what) {
      const auto line = std::find_if(log.begin(), log.end(), [&](const std::string& l) {
        return l.find(what) != std::string::npos;
      });
      if (line != log.end()) std::printf("%s\n", line->c_str());
      return line != log.end();
    };
    bool right = sample::check(cases[0].is(all - 1, 0, 1), "a function made once compiles once");
    right &= sample::check(cases[1].is(0, all, 0) && cases[2].is(0, all, 0),
                           "a function made again is traced again, but finds the program by graph");
    right &= sample::check(cases[3].is(0, 0, all) && said("argument 0 `.rate` was 1, is 0.5") &&
                               cases[4].is(all - 1, 0, 1),
                           "a float is compiled in, an Array is data");
    right &= sample::check(
        cases[5].is(0, 0, all) && said("argument 0 `.values`") && cases[6].is(all - 1, 0, 1),
        "a longer list is another type, a buffer with a count is not");
    right &= sample::check(cases[7].is(all - 1, 0, 1) && cases[8].is(0, all, 0),
                           "a module made again is the same type; captured it is traced again");
    right &= sample::check(cases[9].is(all - 2, 1, 1), "flags that were seen before are hits");
    const std::string message = refused(rt);
    std::printf("with max_traces = 1 a UsageError:\n  %s\n", message.c_str());
    right &= sample::check(message.find("`strict` traced a 2nd time (limit 1): argument 0 `.rate` "
                                        "was 0.1, is 0.01") != std::string::npos,
                           "a limit says what changed, and where the call is");

    const Work again = in_another_process(sample::own_program(argv[0]), options.cache, calls);
    std::printf(
        "programs compiled, loaded; modules written, new to the driver:\n"
        "  this process %llu, %llu; %llu, %llu\n  the next one %llu, %llu; %llu, %llu\n",
        work.compiled, work.loaded, work.emitted, work.new_pipelines, again.compiled, again.loaded,
        again.emitted, again.new_pipelines);
    right &= sample::check(again.compiled == 0 && again.emitted == 0 && again.new_pipelines == 0 &&
                               again.loaded == work.compiled + work.loaded && again.loaded > 0,
                           "another process compiles nothing: it finds all on disk");

    sample::write_csv("recompilation.csv", table);
    sample::draw("recompilation.png",
                 "set title 'Time of a call (median)'\nset ylabel 'us'\nset logscale y\n"
                 "set yrange [1:]\nset style data histograms\nset style fill solid 0.8\n"
                 "set boxwidth 0.9\nset xtics rotate by -25 (" +
                     tics +
                     ")\nset grid y\nplot 'recompilation.csv' every ::1 using 2 title 'hit', "
                     "'' every ::1 using 3 title 'traced, found by graph', "
                     "'' every ::1 using 4 title 'traced and compiled'");
    return right;
  });
  if (!child) std::filesystem::remove_all(own);
  return status;
}
