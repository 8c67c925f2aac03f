// tests/bench/gnomon_compiled.h -- a traced function compiled with options that jit does not offer.
#pragma once
#include <gnomon/gnomon.h>

#include <memory>
#include <string>
#include <vector>

#include "codegen/compile/pipeline.h"
#include "codegen/trace/trace.h"
#include "engine/runtime/executable.h"
#include "engine/runtime/state.h"
#include "gnomon_jitted.h"

namespace bench {

/// Runs `f`, traced and compiled in `prepare` for `target` with `options`. The result is all its
/// arrays, one after the other.
template <class F, class... A>
Variant compiled(std::shared_ptr<gn::Runtime> rt, std::string name, const gn::Target& target,
                 const gn::CompileOptions& options, F f, A... arguments) {
  struct Made {
    std::unique_ptr<gn::Executable> executable;
    std::vector<Array> outputs;
  };
  auto made = std::make_shared<Made>();
  const auto run = [=] {
    std::vector<Array> inputs{arguments...};
    made->executable->run(inputs, made->outputs);
    rt->wait();
  };
  Variant v;
  v.name = std::move(name);
  v.prepare = [=] {
    gn::Trace outer;
    const auto traced = gn::make_graph(f, outer.input(arguments.aval())...);
    made->executable = std::make_unique<gn::Executable>(rt->state()->context,
                                                        gn::compile(traced.graph, target, options));
    run();
  };
  v.run = run;
  v.result = [=] {
    std::vector<float> all;
    for (const Array& a : made->outputs) {
      const std::vector<float> values = host(*rt, a);
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  };
  return v;
}

}  // namespace bench
