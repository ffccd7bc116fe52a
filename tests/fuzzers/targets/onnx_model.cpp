// Bytes as an ONNX model; half of the mutations are of the message and not of its bytes, so that it stays valid
// protobuf.
#include <onnx/onnx_pb.h>

#include <random>

#include "harness/judge/artifact/artifact_view.hpp"
#include "harness/model/onnx_io.hpp"
#include "tests/fuzzers/mutate_message.hpp"
#include "tests/fuzzers/scratch.hpp"

ASSAY_FUZZER({
  const auto model = assay::model::load_model_bytes(input, "/nowhere");
  if (!model) return;
  (void)assay::model::check_model(*model);
  (void)assay::model::libonnx_shapes(*model);
  (void)assay::judge::ArtifactView::build(std::make_shared<const assay::model::Model>(*model), *model);
  if (!assay::model::load_model_bytes(assay::model::serialize_model(*model), "/nowhere")) std::abort();
})

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  std::minstd_rand random(seed);
  onnx::ModelProto model;
  if (random() % 2 == 0 || !model.ParseFromArray(data, static_cast<int>(size)))
    return LLVMFuzzerMutate(data, size, most);
  for (unsigned i = 0; i <= random() % 3; ++i) assay::fuzzers::mutate(model, random);
  std::string bytes;
  if (!model.SerializePartialToString(&bytes) || bytes.size() > most) return LLVMFuzzerMutate(data, size, most);
  bytes.copy(reinterpret_cast<char*>(data), bytes.size());  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
  return bytes.size();
}
