#include "converters/embedded/pipeline.hpp"

namespace assay::embedded {

Passes standard_passes() {
  return {{"load", &check_and_upgrade}, {"feed", &check_feed},  {"float", &run_in_float},
          {"simplify", &simplify},      {"plan", &make_plan},   {"calibrate", &calibrate},
          {"assign", &assign},          {"encode", &encode},    {"emit", &emit},
          {"report", &report},          {"write", &write_files}};
}

Status run_passes(const Passes& passes, State& state) {
  for (const auto& pass : passes) {
    if (auto done = pass.run(state); !done) return done.error().within(std::string(pass.stage));
  }
  return core::success();
}

}  // namespace assay::embedded
