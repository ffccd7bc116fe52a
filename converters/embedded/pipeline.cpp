#include "converters/embedded/pipeline.hpp"

#include <initializer_list>
#include <utility>

namespace assay::embedded {

Passes standard_passes() {
  Passes passes;
  for (const auto& [stage, run] :
       std::initializer_list<std::pair<std::string_view, Status (*)(State&)>>{{"load", &check_and_upgrade},
                                                                              {"feed", &check_feed},
                                                                              {"float", &run_in_float},
                                                                              {"simplify", &simplify},
                                                                              {"plan", &make_plan},
                                                                              {"calibrate", &calibrate},
                                                                              {"assign", &assign},
                                                                              {"encode", &encode},
                                                                              {"emit", &emit},
                                                                              {"report", &report},
                                                                              {"write", &write_files}}) {
    passes.push_back({stage, run});
  }
  return passes;
}

Status run_passes(const Passes& passes, State& state) {
  for (const auto& pass : passes) {
    if (auto done = pass.run(state); !done) return done.error().within(std::string(pass.stage));
  }
  return core::success();
}

}  // namespace assay::embedded
