// tests/bench/conv_dnnl.cpp -- see conv_dnnl.h.
#include "conv_dnnl.h"

#include <omp.h>

#include <chrono>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "oneapi/dnnl/dnnl.hpp"

namespace bench {

namespace {

using dnnl::memory;
using Desc = memory::desc;

/// One operand: as the user has it, and as oneDNN wants it.
struct Operand {
  memory user, wanted;
  dnnl::reorder reorder;
  bool same = true;
};
struct Pass {
  dnnl::primitive primitive;
  std::vector<std::pair<int, Operand>> in;
  std::pair<int, Operand> out;
};

}  // namespace

struct DnnlConv::State {
  explicit State(const DnnlShape& s) {
    omp_set_num_threads(2);
    const auto tag = s.channels_last ? memory::format_tag::nhwc : memory::format_tag::nchw;
    constexpr auto f32 = memory::data_type::f32;
    constexpr auto any = memory::format_tag::any;
    const memory::dims images{s.batch, s.in, s.side, s.side},
        kernel{s.out, s.in, s.window, s.window}, result{s.batch, s.out, s.side, s.side}, ones{1, 1},
        border{s.window / 2, s.window / 2};
    user_images = Desc(images, f32, tag);
    user_kernel = Desc(kernel, f32, memory::format_tag::oihw);
    user_result = Desc(result, f32, tag);
    user_bias = Desc({s.out}, f32, memory::format_tag::x);
    // Channels last is a layout that oneDNN likes as it is.
    const Desc x = s.channels_last ? user_images : Desc(images, f32, any);
    const Desc y = s.channels_last ? user_result : Desc(result, f32, any);
    const Desc w(kernel, f32, any);
    using dnnl::algorithm;
    using dnnl::prop_kind;
    const auto direct = algorithm::convolution_direct;
    const dnnl::convolution_forward::primitive_desc plain(
        {prop_kind::forward_training, direct, x, w, y, ones, border, border}, engine);
    const dnnl::convolution_forward::primitive_desc biased(
        {prop_kind::forward_training, direct, x, w, user_bias, y, ones, border, border}, engine);
    const dnnl::convolution_backward_data::primitive_desc of_images(
        {direct, x, w, y, ones, border, border}, engine, plain);
    const dnnl::convolution_backward_weights::primitive_desc of_kernel(
        {direct, x, w, y, ones, border, border}, engine, plain);
    const auto forward = [&](const auto& d) {
      return Pass{dnnl::convolution_forward(d),
                  {{DNNL_ARG_SRC, operand(user_images, d.src_desc())},
                   {DNNL_ARG_WEIGHTS, operand(user_kernel, d.weights_desc())}},
                  {DNNL_ARG_DST, operand(d.dst_desc(), user_result, true)}};
    };
    passes[0] = forward(plain);
    passes[1] = forward(biased);
    passes[1].in.emplace_back(DNNL_ARG_BIAS, operand(user_bias, user_bias));
    passes[2] = {dnnl::convolution_backward_data(of_images),
                 {{DNNL_ARG_DIFF_DST, operand(user_result, of_images.diff_dst_desc())},
                  {DNNL_ARG_WEIGHTS, operand(user_kernel, of_images.weights_desc())}},
                 {DNNL_ARG_DIFF_SRC, operand(of_images.diff_src_desc(), user_images, true)}};
    passes[3] = {
        dnnl::convolution_backward_weights(of_kernel),
        {{DNNL_ARG_SRC, operand(user_images, of_kernel.src_desc())},
         {DNNL_ARG_DIFF_DST, operand(user_result, of_kernel.diff_dst_desc())}},
        {DNNL_ARG_DIFF_WEIGHTS, operand(of_kernel.diff_weights_desc(), user_kernel, true)}};
  }

  /// From one layout to another; the user's side is the first one, of results the second.
  Operand operand(const Desc& from, const Desc& to, bool result = false) {
    Operand o;
    o.same = from == to;
    o.user = memory(result ? to : from, engine, nullptr);
    if (o.same) return o;
    o.wanted = memory(result ? from : to, engine);
    o.reorder = result ? dnnl::reorder(o.wanted, o.user) : dnnl::reorder(o.user, o.wanted);
    return o;
  }

  void run(Pass& p, const std::vector<const float*>& in, float* out) {
    std::unordered_map<int, memory> arguments;
    for (std::size_t i = 0; i < in.size(); ++i) {
      auto& [name, o] = p.in[i];
      o.user.set_data_handle(const_cast<float*>(in[i]));
      if (!o.same) o.reorder.execute(stream, o.user, o.wanted);
      arguments[name] = o.same ? o.user : o.wanted;
    }
    auto& [name, o] = p.out;
    o.user.set_data_handle(out);
    arguments[name] = o.same ? o.user : o.wanted;
    p.primitive.execute(stream, arguments);
    if (!o.same) o.reorder.execute(stream, o.wanted, o.user);
    stream.wait();
  }

  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  Desc user_images, user_kernel, user_result, user_bias;
  Pass passes[4];
};

DnnlConv::DnnlConv(const DnnlShape& shape) : state_(std::make_unique<State>(shape)) {}
DnnlConv::~DnnlConv() = default;

void DnnlConv::forward(const float* images, const float* kernel, const float* bias, float* result) {
  if (bias)
    state_->run(state_->passes[1], {images, kernel, bias}, result);
  else
    state_->run(state_->passes[0], {images, kernel}, result);
}
void DnnlConv::backward_images(const float* cotangent, const float* kernel, float* images) {
  state_->run(state_->passes[2], {cotangent, kernel}, images);
}
void DnnlConv::backward_kernel(const float* images, const float* cotangent, float* kernel) {
  state_->run(state_->passes[3], {images, cotangent}, kernel);
}

void let_dnnl_sleep() { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }

}  // namespace bench
