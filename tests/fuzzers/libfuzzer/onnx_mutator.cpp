// Half of the mutations of ONNX models are of the message and not of its bytes, so that it stays valid protobuf.
#include <onnx/onnx_pb.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

#include "tests/fuzzers/libfuzzer/mutate_message.hpp"

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
