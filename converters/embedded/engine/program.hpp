#pragma once

#include <map>
#include <string>
#include <vector>

#include "converters/embedded/engine/engine.hpp"
#include "converters/embedded/engine/kernel.hpp"

namespace assay::embedded::engine {

/// One kernel of a program with the slots it reads and writes; a slot is a tensor's place during a run.
struct Step {
  Kernel kernel;
  std::vector<int> inputs;  ///< -1 where an optional input is left out
  std::vector<int> outputs;
  std::vector<int> released;  ///< slots that nothing reads after this step
  std::vector<int> traced;    ///< outputs that are codes of an activation
  Node node;                  ///< for messages: name and operator only
};

struct ProgramState {
  struct Input {
    int slot = 0;
    model::ValueInfo info;
  };
  std::vector<Buffer> constants;  ///< by slot; undefined type where the slot is no constant
  std::vector<std::string> names;
  std::vector<Input> inputs;
  std::vector<int> outputs;
  std::vector<Step> steps;
  std::vector<std::string> integer_nodes;
};

}  // namespace assay::embedded::engine
