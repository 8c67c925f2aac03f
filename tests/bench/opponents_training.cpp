// tests/bench/opponents_training.cpp -- train_mlp, attention and gru_scan without the library.
#include "hand.h"
#include "native_training.h"
#include "problems_training.h"

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

}  // namespace

void add_training_opponents(std::vector<Workload>& workloads) {
  find_workload(workloads, "train_mlp").makers.push_back([] {
    return with_scratch(train_mlp_input(), 1 + 3 * TrainMlp::parameters, native::train_mlp_scratch,
                        native::train_mlp);
  });
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
