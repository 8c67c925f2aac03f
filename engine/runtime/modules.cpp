// engine/runtime/modules.cpp -- Executable::make_modules: kernels to SPIR-V to pipelines.
#include <algorithm>
#include <chrono>

#include "engine/runtime/executable.h"
#include "engine/runtime/parallel.h"
#include "gnomon/error.h"
#include "shaders/support/check.h"

namespace gnomon {
namespace {

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

}  // namespace

const Executable::Module* Executable::module(std::uint32_t kernel,
                                             std::span<const std::uint8_t> windows,
                                             std::uint32_t joined_rows) const {
  for (const Module& m : modules_) {
    if (m.kernel == kernel && m.joined_rows == joined_rows &&
        std::ranges::equal(m.windows, windows))
      return &m;
  }
  return nullptr;
}

void Executable::restore_modules(std::span<const Module> wanted) {
  std::vector<Module*> gone;
  for (Module& m : modules_) {
    const bool wants = std::ranges::any_of(wanted, [&](const Module& w) { return w.same_as(m); });
    if (m.gone && wants) gone.push_back(&m);
  }
  in_parallel(gone.size(), context_->compile_threads, [&](std::size_t i) {
    context_->pipelines.restore(*gone[i]->pipeline, schedule_.kernels[gone[i]->kernel].name);
    gone[i]->gone = false;
  });
}

struct Executable::ModuleTask {
  Module module;
  std::vector<std::uint32_t> words;
  const ProgramModule* stored = nullptr;
};

std::vector<Executable::ModuleTask> Executable::missing_modules(std::vector<Module> wanted) const {
  std::vector<ModuleTask> tasks;
  for (Module& w : wanted) {
    // Behind the program's own stand those that copy, without their bodies and all alike.
    const auto number = [&](std::uint32_t k) {
      return std::min(k, static_cast<std::uint32_t>(program_.kernels.size()));
    };
    const auto same = [&](const auto& m) {
      return number(m.kernel) == number(w.kernel) && m.windows == w.windows &&
             m.joined_rows == w.joined_rows;
    };
    if (module(w.kernel, w.windows, w.joined_rows) != nullptr ||
        std::ranges::any_of(tasks, same, &ModuleTask::module))
      continue;
    const auto stored = std::ranges::find_if(origin_.modules, same);
    ModuleTask task{std::move(w), {}, stored == origin_.modules.end() ? nullptr : &*stored};
    if (task.stored != nullptr) task.words = task.stored->words;
    tasks.push_back(std::move(task));
  }
  return tasks;
}

void Executable::require_compiler(std::span<const ModuleTask> tasks) const {
  const auto missing = std::ranges::find(tasks, nullptr, &ModuleTask::stored);
  if (missing == tasks.end() || (context_->compiler != nullptr && !sealed_)) return;
  throw DeviceError("gnomon::run: `" + program_.name + "` has no module of kernel `" +
                    schedule_.kernels[missing->module.kernel].name +
                    "` for arrays that lie in blocks of memory as these do, and it was saved with "
                    "those it has; use smaller arrays, or a Runtime with larger block_bytes");
}

void Executable::emit_words(std::span<ModuleTask> tasks) {
  const auto start = std::chrono::steady_clock::now();
  const Compiler* const compiler = context_->compiler.get();
  const bool emits = std::ranges::find(tasks, nullptr, &ModuleTask::stored) != tasks.end();
  if (emits && origin_.compile) {
    // The arrays lie in other blocks than they did in the process that left the modules.
    Program again = origin_.compile();
    GNOMON_CHECK(again.kernels.size() == program_.kernels.size(),
                 "`" + program_.name + "` has other kernels when it is compiled again");
    std::ranges::move(again.kernels, schedule_.kernels.begin());
    origin_.compile = nullptr;
  }
  in_parallel(tasks.size(), context_->compile_threads, [&](std::size_t i) {
    ModuleTask& task = tasks[i];
    if (task.stored == nullptr) {
      const std::uint32_t k = task.module.kernel;
      const bool copies = k >= program_.kernels.size();
      task.words = compiler->words(copies ? compiler->copy_kernel(target_) : schedule_.kernels[k],
                                   target_, task.module.windows,
                                   {.debug_info = options_.debug_info,
                                    .window_bytes = context_->device.max_window_bytes(),
                                    .joined_rows = task.module.joined_rows,
                                    .validate = options_.validate_modules});
      ++context_->counters.modules_emitted;
    } else if (options_.validate_modules && compiler != nullptr) {
      compiler->validate(task.words, schedule_.kernels[task.module.kernel].name);
    }
  });
  times_.emit_ms += milliseconds_since(start);
}

void Executable::compile_pipelines(std::span<ModuleTask> tasks) {
  const auto start = std::chrono::steady_clock::now();
  in_parallel(tasks.size(), context_->compile_threads, [&](std::size_t i) {
    ModuleTask& task = tasks[i];
    const std::string& name = schedule_.kernels[task.module.kernel].name;
    task.module.pipeline = context_->pipelines.pipeline(
        std::move(task.words), name, task.stored == nullptr ? nullptr : &task.stored->driver_data);
  });
  times_.pipeline_ms += milliseconds_since(start);
}

void Executable::make_modules(std::vector<Module> wanted) {
  restore_modules(wanted);
  std::vector<ModuleTask> tasks = missing_modules(std::move(wanted));
  if (tasks.empty()) return;
  require_compiler(tasks);
  emit_words(tasks);
  compile_pipelines(tasks);
  for (ModuleTask& task : tasks) {
    to_keep_ |=
        task.stored == nullptr || task.stored->driver_data != task.module.pipeline->driver_data();
    footprint_ += 4 * task.module.pipeline->words().size();
    modules_.push_back(std::move(task.module));
  }
  std::erase_if(origin_.modules, [&](const ProgramModule& m) {
    return module(m.kernel, m.windows, m.joined_rows) != nullptr;
  });
}

std::vector<ProgramModule> Executable::all_modules() const {
  std::vector<ProgramModule> all = origin_.modules;
  for (const Module& m : modules_)
    all.push_back(
        {m.kernel, m.windows, m.pipeline->words(), m.pipeline->driver_data(), m.joined_rows});
  return all;
}

void Executable::keep_modules() {
  to_keep_ = false;
  if (!origin_.keep) return;
  try {
    origin_.keep(program_, all_modules());
  } catch (const std::exception&) {
    // The call is under way and right: what was to be kept is made again another time.
  }
}

Executable::Times Executable::times() const {
  const std::lock_guard lock(mutex_);
  return times_;
}

std::string Executable::spirv_text() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const Module& module : modules_) {
    text += "; kernel " + schedule_.kernels[module.kernel].name + "\n" +
            (context_->compiler ? context_->compiler->text(module.pipeline->words()) : "");
  }
  return text;
}

}  // namespace gnomon
