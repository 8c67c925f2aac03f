// tests/bench/opponents_training.cpp -- train_mlp, train_cnn, attention and gru_scan without the
// library.
#include "hand.h"
#include "native_cnn.h"
#include "native_training.h"
#include "problems_cnn.h"
#include "problems_training.h"
#ifdef BENCH_HAS_DNNL
#include "conv_dnnl.h"
#endif

namespace bench {
namespace {

using Native = void (*)(native::Pair&, const float*, float*, float*);

std::vector<Variant> with_scratch(const std::vector<float>& input, size_t outputs, size_t scratch,
                                  Native work) {
  const auto floats = std::make_shared<hand::HostArray>(scratch);
  return {hand::on_host(input, outputs, [=](native::Pair& pair, const float* in, float* out) {
    work(pair, in, floats->values().data(), out);
  })};
}

#ifdef BENCH_HAS_DNNL
class ByDnnl : public native::Convolutions {
 public:
  void forward(int layer, const float* images, const float* kernel, float* result) override {
    of_[layer].forward(images, kernel, nullptr, result);
  }
  void of_images(int layer, const float* of, const float* kernel, float* images) override {
    of_[layer].backward_images(of, kernel, images);
  }
  void of_kernel(int layer, const float* images, const float* of, float* kernel) override {
    of_[layer].backward_kernel(images, of, kernel);
  }

 private:
  using P = TrainCnn;
  DnnlConv of_[2]{DnnlConv({P::batch, 1, P::c1, P::side, 3, true}),
                  DnnlConv({P::batch, P::c1, P::c2, P::side / 2, 3, true})};
};

std::vector<Variant> train_cnn() {
  const auto floats = std::make_shared<hand::HostArray>(native::train_cnn_scratch);
  const auto convolutions = std::make_shared<ByDnnl>();
  Variant v = hand::on_host(
      train_cnn_input(), TrainCnn::results, [=](native::Pair& pair, const float* in, float* out) {
        native::train_cnn(pair, *convolutions, in, floats->values().data(), out);
      });
  v.after = let_dnnl_sleep;
  return {v};
}
#endif

}  // namespace

void add_training_opponents(std::vector<Workload>& workloads) {
  find_workload(workloads, "train_mlp").makers.push_back([] {
    return with_scratch(train_mlp_input(), 1 + 3 * TrainMlp::parameters, native::train_mlp_scratch,
                        native::train_mlp);
  });
#ifdef BENCH_HAS_DNNL
  find_workload(workloads, "train_cnn").makers.push_back(train_cnn);
#endif
  find_workload(workloads, "attention").makers.push_back([] {
    return with_scratch(attention_input(), size_t{4} * Attention::array, native::attention_scratch,
                        native::attention);
  });
  find_workload(workloads, "gru_scan").makers.push_back([] {
    return with_scratch(gru_scan_input(), 1 + GruScan::parameters, native::gru_scan_scratch,
                        native::gru_scan);
  });
}

}  // namespace bench
