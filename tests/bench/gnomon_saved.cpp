// tests/bench/gnomon_saved.cpp -- the first run of a saved program, and the same SPIR-V by hand.
#include <gnomon/aot.h>
#include <gnomon/gnomon.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <stdexcept>

#include "codegen/program/grid.h"
#include "codegen/program/saved.h"
#include "gnomon_lorenz.h"
#include "harness.h"
#include "problems.h"
#include "vk.h"

namespace bench {
namespace {

using namespace lorenz;
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// A file that goes with its last user.
struct SavedLorenz {
  SavedLorenz()
      : path((std::filesystem::temp_directory_path() /
              ("gnomon_bench_" + std::to_string(std::random_device()()) + ".gnomon"))
                 .string()),
        rho(lorenz_rho(LoadFirstRun::systems)) {
    gn::Runtime rt;
    const auto f = gn::jit(rt, gn::vmap([](const Array& r) {
                             return rk4(start(), r, LorenzRk4::steps, LorenzRk4::step);
                           }),
                           {.name = "lorenz"});
    gn::aot::save(path, {{"lorenz", f.lower(rt.from_host(rho))}});
  }
  ~SavedLorenz() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }

  std::string path;
  std::vector<float> rho;
};

/// A fresh Runtime for each run, which has its input already.
Variant loaded(const std::shared_ptr<SavedLorenz>& saved) {
  struct Made {
    std::unique_ptr<gn::Runtime> rt;
    Array rho;
    std::vector<Array> last;
    double load_ms = 0;
  };
  auto made = std::make_shared<Made>();
  Variant v;
  v.name = "gnomon";
  v.before = [=] {
    made->last.clear();
    made->rho = {};
    made->rt = std::make_unique<gn::Runtime>(gn::Runtime::without_compiler());
    made->rho = made->rt->from_host(saved->rho);
  };
  v.run = [=] {
    const auto start = Clock::now();
    const gn::aot::Programs programs = gn::aot::load(*made->rt, saved->path);
    made->load_ms = milliseconds_since(start);
    made->last = programs.call("lorenz", {made->rho});
    made->rt->wait();
  };
  v.result = [=] {
    std::vector<float> all;
    for (const Array& a : made->last)
      for (const float x : made->rt->to_host<float>(a)) all.push_back(x);
    return all;
  };
  v.extras = [=] {
    const gn::Counters now = made->rt->counters();
    return std::map<std::string, double>{
        {"load_ms", made->load_ms},
        {"modules_emitted", static_cast<double>(now.modules_emitted)},
        {"pipelines", static_cast<double>(now.pipelines)}};
  };
  return v;
}

/// Pipeline, recording and dispatch of the module that the loaded program takes, by hand: its
/// arrays in one buffer, its parameters as the engine writes them.
class ByHand {
 public:
  ByHand(const vk::Device& device, const SavedLorenz& saved) : device_(device) {
    const std::vector<std::byte> bytes = read(saved.path);
    const gn::SavedFile file = gn::saved_file(bytes);
    const gn::SavedVariant& variant = file.entries.at(0).variants.at(0);
    const gn::Program& program = variant.file.program;
    if (program.steps.size() != 1 || !program.loops.empty() || program.arena_bytes > 0)
      throw std::runtime_error("bench: load_first_run is more than one dispatch");
    const gn::Step& step = program.steps[0];
    const gn::kernel::Kernel& kernel = program.kernels[step.kernel];
    for (const gn::ProgramModule& m : variant.file.modules)
      if (m.kernel == step.kernel && m.windows == std::vector<std::uint8_t>(m.windows.size(), 0))
        words_ = m.words;
    // One behind the other, as the pool has them.
    std::vector<std::uint32_t> inputs, outputs;
    const auto place = [&](const gn::Aval& a) {
      const std::uint32_t at = floats_;
      floats_ += (static_cast<std::uint32_t>(a.shape.size()) + 63) / 64 * 64;
      return at;
    };
    for (const gn::Aval& a : program.inputs) inputs.push_back(place(a));
    for (const gn::Aval& a : program.outputs) {
      outputs.push_back(place(a));
      sizes_.push_back(static_cast<std::size_t>(a.shape.size()));
    }
    outputs_ = outputs;
    const auto pieces = gn::grid_of(step.groups, variant.target.max_groups);
    grid_ = pieces.at(0);
    parameters_ = {grid_.base, grid_.x, 0, 0};
    for (std::size_t o = 0; o < step.operands.size(); ++o) {
      const gn::Place& p = step.operands[o];
      if (size_of(kernel.buffers[o].dtype) != 4)
        throw std::runtime_error("bench: load_first_run has other elements than words");
      parameters_.push_back(p.kind == gn::Place::Kind::input ? inputs[p.index] : outputs[p.index]);
    }
    parameters_.insert(parameters_.end(), step.parameters.begin(), step.parameters.end());
    parameters_.resize((parameters_.size() + 3) / 4 * 4);
    data_ = std::make_unique<vk::Buffer>(device, floats_, VK_FORMAT_R32G32B32A32_UINT);
    block_ = std::make_unique<vk::Buffer>(device, parameters_.size());
    std::memcpy(block_->host().data(), parameters_.data(), 4 * parameters_.size());
    std::copy(saved.rho.begin(), saved.rho.end(), data_->host().begin() + inputs.at(0));
  }

  void run() {
    recording_.reset();
    kernel_.reset();
    const auto start = Clock::now();
    using enum vk::Access;
    kernel_ = std::make_unique<vk::Kernel>(
        device_, vk::KernelSpec{words_, {Uniform, Storage, Storage, Storage, Storage, Texels}});
    pipeline_ms = milliseconds_since(start);
    const vk::Buffer* const data = data_.get();
    recording_ = std::make_unique<vk::Recording>(
        device_,
        std::vector<vk::Dispatch>{
            {kernel_.get(), {block_.get(), data, data, data, data, data}, {}, grid_.x, grid_.y}});
    recording_->run();
  }

  std::vector<float> result() const {
    std::vector<float> all;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      const auto from = data_->host().begin() + outputs_[i];
      all.insert(all.end(), from, from + static_cast<std::ptrdiff_t>(sizes_[i]));
    }
    return all;
  }

  double pipeline_ms = 0;

 private:
  static std::vector<std::byte> read(const std::string& path) {
    std::vector<std::byte> bytes(std::filesystem::file_size(path));
    std::FILE* const file = std::fopen(path.c_str(), "rb");
    const std::size_t got = file ? std::fread(bytes.data(), 1, bytes.size(), file) : 0;
    if (file) std::fclose(file);
    if (got != bytes.size()) throw std::runtime_error("bench: cannot read " + path);
    return bytes;
  }

  const vk::Device& device_;
  std::vector<std::uint32_t> words_, parameters_, outputs_;
  std::vector<std::size_t> sizes_;
  std::uint32_t floats_ = 0;
  gn::GridPiece grid_;
  std::unique_ptr<vk::Buffer> data_, block_;
  std::unique_ptr<vk::Kernel> kernel_;
  std::unique_ptr<vk::Recording> recording_;
};

/// A fresh device for each run, which has its arrays already, as the loaded program has a fresh
/// Runtime: a driver's first compilation on a device takes longer than the next.
Variant bare(const std::shared_ptr<SavedLorenz>& saved) {
  struct Made {
    std::unique_ptr<vk::Device> device;
    std::unique_ptr<ByHand> by_hand;
  };
  auto made = std::make_shared<Made>();
  Variant v;
  v.name = "bare";
  v.before = [=] {
    made->by_hand.reset();
    made->device = std::make_unique<vk::Device>();
    made->by_hand = std::make_unique<ByHand>(*made->device, *saved);
  };
  v.run = [=] { made->by_hand->run(); };
  v.result = [=] { return made->by_hand->result(); };
  v.extras = [=] {
    return std::map<std::string, double>{{"pipeline_ms", made->by_hand->pipeline_ms}};
  };
  return v;
}

}  // namespace

void add_saved_variants(std::vector<Workload>& workloads, const vk::Device&) {
  find_workload(workloads, "load_first_run").makers.push_back([] {
    const auto saved = std::make_shared<SavedLorenz>();
    return std::vector<Variant>{bare(saved), loaded(saved)};
  });
}

}  // namespace bench
