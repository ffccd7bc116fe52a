#include "harness/model/onnx_io.hpp"
#include "tests/fuzzers/target.hpp"

ASSAY_FUZZER(graph_text, {
  const auto model = assay::model::parse_graph_text(std::string(input), {{"", 13}, {"com.microsoft", 1}});
  if (model) (void)assay::model::check_model(*model);
})
