// samples/own_device/main.cpp -- inside an application with a Vulkan device of its own: particles
// that Gnomon moves within the frame's command buffer, drawn from the same buffer.
//
// 100,000 particles circle in the pull of a soft center. A leapfrog step by a central force keeps
// the angular momentum of each to the last rounding, which is the known answer: E. Hairer,
// C. Lubich and G. Wanner, Geometric Numerical Integration, 2nd edition, section IV.2.
#include <gnomon/gnomon.h>
#include <gnomon/vulkan.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "samples/common/sample.h"
#include "samples/own_device/app.h"

namespace {

namespace gn = gnomon;
using gn::Array;

struct Particles {
  Array x, y, vx, vy;
};

constexpr float dt = 1.0f / 120;
constexpr int steps = 4;  // within a frame

Particles step(Particles p) {
  for (int i = 0; i < steps; ++i) {
    p.x = p.x + 0.5f * dt * p.vx, p.y = p.y + 0.5f * dt * p.vy;
    const Array pull = -0.12f * gn::pow(p.x * p.x + p.y * p.y + 0.01f, -1.5f);
    p.vx = p.vx + dt * pull * p.x, p.vy = p.vy + dt * pull * p.y;
    p.x = p.x + 0.5f * dt * p.vx, p.y = p.y + 0.5f * dt * p.vy;
  }
  return p;
}

/// Four arrays behind one another in a buffer of the application's.
Particles in(gn::Runtime& rt, const own_device::Buffer& b, std::uint64_t stride, gn::Dim count) {
  const gn::VulkanBuffer buffer{b.buffer, b.bytes, b.usage, b.mapped};
  const auto part = [&](std::uint64_t i) {
    return gn::array_in(rt, buffer, i * stride, {gn::DType::f32, gn::Shape(count)});
  };
  return {part(0), part(1), part(2), part(3)};
}

/// Makes what the pipeline's stages have done with memory known to later ones.
void order(VkCommandBuffer commands, VkPipelineStageFlags from, VkAccessFlags wrote,
           VkPipelineStageFlags to, VkAccessFlags reads) {
  const VkMemoryBarrier memory{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, wrote, reads};
  vkCmdPipelineBarrier(commands, from, to, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  int count = 100000, frames = 60, pictures = 3;
  bool validate = false, video = false;
  sample::Settings settings("Particles in a command buffer of an application's own.");
  settings.add("--particles", count, "how many", 1000, 10000000);
  settings.add("--frames", frames, "how many", 1, 100000);
  settings.add("--pictures", pictures, "of so many frames PNGs are written", 1, 100000);
  settings.add("--video", video, "a picture of every frame, and a video of them by ffmpeg");
  settings.add("--validate", validate, "have Vulkan's validation layer look on");
  return sample::run_without(settings, argc, argv, [&] {
    own_device::App app(validate);
    gn::VulkanDevice mine;
    mine.get_instance_proc_addr = vkGetInstanceProcAddr;
    mine.instance = app.instance;
    mine.physical_device = app.physical;
    mine.device = app.device;
    mine.queue = app.queue;
    mine.queue_family = app.family;
    mine.features = &app.features;
    gn::RuntimeOptions options;
    options.validate = validate;
    gn::Runtime rt = gn::Runtime::adopt(mine, options);

    // Two buffers take turns: a step reads all of one and writes all of the other.
    const std::uint64_t stride =
        (std::uint64_t{4} * static_cast<unsigned>(count) + 255) / 256 * 256;
    const VkBufferUsageFlags usage = gn::buffer_usage(rt) | VK_BUFFER_USAGE_VERTEX_BUFFER_BIT;
    const VkBufferUsageFlags unaddressed = usage & ~VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
    const own_device::Buffer buffers[] = {app.buffer(4 * stride, unaddressed),
                                          app.buffer(4 * stride, unaddressed)};
    Particles now = in(rt, buffers[0], stride, count), next = in(rt, buffers[1], stride, count);

    // A disc, somewhat slower than what would circle.
    const auto momentum = [&](const own_device::Buffer& b, std::size_t i) {
      const auto* f = static_cast<const float*>(b.mapped);
      const std::size_t s = stride / 4;
      return static_cast<double>(f[i]) * f[3 * s + i] -
             static_cast<double>(f[s + i]) * f[2 * s + i];
    };
    std::vector<double> before;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      auto* f = static_cast<float*>(buffers[0].mapped);
      const std::size_t s = stride / 4;
      const double r = 0.1 + 0.8 * std::sqrt((static_cast<double>(i) + 0.5) / count);
      const double angle = 2.399963 * static_cast<double>(i);  // the golden angle
      const double speed = 0.8 * std::sqrt(0.12 * r * r * std::pow(r * r + 0.01, -1.5));
      f[i] = static_cast<float>(r * std::cos(angle));
      f[s + i] = static_cast<float>(r * std::sin(angle));
      f[2 * s + i] = static_cast<float>(-speed * std::sin(angle));
      f[3 * s + i] = static_cast<float>(speed * std::cos(angle));
      before.push_back(momentum(buffers[0], i));
    }

    const auto move = gn::jit(rt, step, {.name = "step", .max_traces = 1});
    double recording_us = 0;
    int lit = 0;
    const auto start = std::chrono::steady_clock::now();
    for (int frame = 0; frame < frames; ++frame) {
      const own_device::Buffer& drawn = buffers[(frame + 1) % 2];
      const VkCommandBuffer commands = app.begin();
      const auto begun = std::chrono::steady_clock::now();
      gn::Recording recording = gn::record(commands, next, move, now);
      if (frame > 0)
        recording_us +=
            std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begun)
                .count();
      order(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
            VK_PIPELINE_STAGE_VERTEX_INPUT_BIT, VK_ACCESS_VERTEX_ATTRIBUTE_READ_BIT);
      app.draw(commands, drawn.buffer, stride, static_cast<std::uint32_t>(count));
      app.finish(commands);  // waits
      recording.finished();
      std::swap(now, next);
      const int every = std::max(1, frames / pictures);
      if (!video && (frame + 1) % every != 0) continue;
      char name[64];
      std::snprintf(name, sizeof name, "own_device_%04d.png", frame);
      own_device::write_png(name, app.pixels(), own_device::App::size);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    const auto* pixels = app.pixels();
    for (std::size_t i = 0; i < std::size_t{4} * app.size * app.size; i += 4)
      lit += pixels[i] + pixels[i + 1] + pixels[i + 2] > 0;

    double worst = 0;
    for (std::size_t i = 0; i < before.size(); ++i)
      worst = std::max(worst, std::fabs(momentum(buffers[frames % 2], i) - before[i]) / before[i]);
    std::printf("%d particles, %d frames of %d steps in %.2f s; recording took %.1f us a frame\n",
                count, frames, steps, took.count(), recording_us / std::max(1, frames - 1));
    std::printf("angular momentum is off by %.1e of itself; %d pixels are lit\n", worst, lit);
    if (video && std::system("ffmpeg -loglevel error -y -framerate 30 -i own_device_%04d.png "
                             "-pix_fmt yuv420p own_device.mp4") != 0)
      std::printf("there is no video: ffmpeg is not there\n");
    now = next = {};
    return sample::check(worst < 1e-4 && lit > 10000 && app.messages() == 0,
                         "angular momentum is kept, and particles are seen");
  });
}
