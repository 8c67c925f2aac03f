// codegen/emit/workshop.cpp -- operands of a kernel under construction.
#include "codegen/emit/workshop.h"

#include <algorithm>

#include "shaders/passes/loop_to_branch.h"

namespace gnomon {

using kernel::Op;
using kernel::Value;

Workshop::Workshop(const DraftRequest& r)
    : request(r), k(r.name), emitter(k, r.target), buffers_(r.graph.avals.size()) {
  k.fuse_products(r.target.contracts);
  emitter.value_limit = r.value_limit;
  emitter.know_uses(r.graph, r.uses);
  if (r.mapping == Mapping::group) return;  // whoever maps says what a lane is
  k.kernel().lanes = r.mapping == Mapping::sequential ? 1 : word(r.lanes);
  if (r.mapping != Mapping::sequential) {
    emitter.lane = k.source(Op::lane);
    emitter.lanes = r.lanes;
    emitter.pins = r.pins;
  }
}

std::uint32_t Workshop::buffer(ValueId v, kernel::Access access) {
  auto& slot = buffers_[v];
  if (!slot) {
    const bool input = std::count(request.graph.inputs.begin(), request.graph.inputs.end(), v) > 0;
    slot = k.buffer({request.graph.avals[v].dtype, access, false, false,
                     (input ? "in" : "v") + std::to_string(v)});
    note(*slot, {false, v, 0});
  }
  return *slot;
}

void Workshop::bind_inputs(Frame& f) {
  f.bind_rest([this](ValueId v) -> Frame::Source {
    const auto& roots = request.roots;
    if (!request.in_memory[v] || std::find(roots.begin(), roots.end(), v) != roots.end()) return {};
    if (request.iterations != nullptr)
      if (const auto i = request.iterations->find(v); i != request.iterations->end())
        return [this, v, from = i->second](const Index&) { return iteration(v, from); };
    return [this, v](const Index& index) {
      return emitter.load(memory(v, kernel::Access::read), request.graph.avals[v].shape, index);
    };
  });
}

Value Workshop::iteration(ValueId v, IterationSource from) {
  Value sum = k.i32(from.offset);
  if (from.word) {
    const auto [word, fresh] = iteration_words_.try_emplace(v, 0);
    if (fresh) word->second = k.parameter_word();
    sum = k.add(sum, k.convert(k.parameter(word->second), DType::i32));
  }
  if (from.counter) sum = k.add(sum, k.load(buffer(v, kernel::Access::read), k.u32(0)));
  return sum;
}

Index Workshop::position(ValueId v) {
  const Shape& shape = request.graph.avals[v].shape;
  const auto& [order, block] = request.layouts[v];
  if (order.empty()) return Index::flat(shape, emitter.lane);
  const Index at = Index::flat(request.layouts[v].in_memory(shape), emitter.lane);
  kernel::Values c(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    kernel::Value& mine = c[static_cast<std::size_t>(order[i])];
    mine = at(k, static_cast<int>(i) + (block > 0 && i > 0 ? 1 : 0));
    if (block > 0 && i + 1 == order.size()) mine = k.add(k.mul(at(k, 1), k.u32(word(block))), mine);
  }
  return Index::coordinates(shape, std::move(c));
}

Index Workshop::row_position(ValueId v, Value n) {
  const Shape& shape = request.graph.avals[v].shape;
  int axes = 0;
  for (Dim lanes = 1; lanes < request.lanes; lanes *= shape[axes++]) {
  }
  const Index row = Index::flat(shape.part(0, axes), emitter.lane);
  const Index element = Index::flat(shape.part(axes, shape.rank()), n);
  kernel::Values c;
  for (int a = 0; a < shape.rank(); ++a) c.push_back(a < axes ? row(k, a) : element(k, a - axes));
  return Index::coordinates(shape, std::move(c));
}

Draft Workshop::finish(std::string mapping) {
  Draft d;
  for (const auto& [v, word] : iteration_words_) d.iterations.emplace_back(word, v);
  for (const auto& s : emitter.scratch)
    note(s.buffer, {true, 0, static_cast<std::uint64_t>(s.elements) * size_of(s.dtype)});
  d.operands = std::move(operands);
  d.kernel = k.take();
  const std::uint64_t budget = request.target.loop_budget;
  if (budget > 0 && request.mapping != Mapping::group &&
      kernel::worst_case_trips(d.kernel) > budget)
    d.kernel = loop_to_branch(d.kernel);
  d.operands.resize(d.kernel.buffers.size());
  d.mapping = std::move(mapping);
  d.parameters.push_back(std::vector<std::uint32_t>(d.kernel.parameters, 0));
  return d;
}

}  // namespace gnomon
