#include <cstdlib>
#include <memory>

#include "harness/judge/artifact/artifact_view.hpp"
#include "harness/model/onnx_io.hpp"
#include "reference/infer.hpp"
#include "tests/fuzzers/target.hpp"

ASSAY_FUZZER(onnx_model, {
  const auto model = assay::model::load_model_bytes(input, "/nowhere");
  if (!model) return;
  (void)assay::model::check_model(*model);
  (void)assay::reference::infer_shapes(*model);
  (void)assay::judge::ArtifactView::build(std::make_shared<const assay::model::Model>(*model), *model);
  if (!assay::model::load_model_bytes(assay::model::serialize_model(*model), "/nowhere")) std::abort();
})
