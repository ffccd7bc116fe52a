// The float kernels against ONNX's own node data, where Debian's libonnx-testdata is installed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "tests/embedded_engine/graphs.hpp"

namespace assay::embedded::engine::test {
namespace {

namespace fs = std::filesystem;
const fs::path kNodeData = "/usr/share/libonnx-testdata/data/node";

core::Result<TensorMap> load_in_order(const fs::path& folder, std::string_view stem,
                                      const std::vector<model::ValueInfo>& declared) {
  TensorMap tensors;
  for (std::size_t i = 0; i < declared.size(); ++i) {
    auto tensor = model::load_tensor(folder / fmt::format("{}_{}.pb", stem, i));
    if (!tensor) return tensor.error();
    if (tensor->tensor.type() != declared[i].type) {  // bfloat16 is stored as uint16 in this data
      return core::Error{core::ErrorKind::invalid_data, "stored under another type", "", "", declared[i].name};
    }
    tensors.emplace(declared[i].name, std::move(tensor->tensor));
  }
  return tensors;
}

/// Both sides are float32 results of different orders of summation: 64 roundings of the value and 2 of the largest.
std::string difference(const Tensor& expected, const Tensor& actual) {
  if (expected.type() != actual.type() || expected.shape() != actual.shape()) {
    return fmt::format("expected {} of {}, actual {} of {}", core::shape_text(expected.shape()),
                       core::dtype_name(expected.type()), core::shape_text(actual.shape()),
                       core::dtype_name(actual.type()));
  }
  double largest = 0;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    if (std::isfinite(expected.as_real(i))) largest = std::max(largest, std::abs(expected.as_real(i)));
  }
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    const double wanted = expected.as_real(i);
    const double got = actual.as_real(i);
    if (std::isnan(wanted) && std::isnan(got)) continue;
    const double limit = expected.is_real() ? 0x1p-24 * (64 * std::abs(wanted) + 2 * largest) : 0;
    if (!(wanted == got || std::abs(wanted - got) <= limit)) {
      return fmt::format("element {}: expected {}, actual {}", i, wanted, got);
    }
  }
  return {};
}

/// ONNX 1.12 computed windows with 3.1415 for pi, while the models hold pi itself. ONNX 1.17 divides an average by the
/// places that ceil_mode adds beyond the padding, too.
bool has_wrong_expectation(const std::string& name) {
  return name.ends_with("window_expanded") || name.ends_with("window_symmetric_expanded") ||
         name == "test_averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True";
}

TEST(FloatKernels, AgreeWithTheNodeDataOfOnnx) {
  if (!fs::exists(kNodeData)) GTEST_SKIP() << "no test data in " << kNodeData << "; install libonnx-testdata";
  std::set<std::string> covered;
  std::size_t passed = 0;
  std::size_t refused = 0;
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(kNodeData)) folders.push_back(entry.path());
  std::ranges::sort(folders);
  for (const auto& folder : folders) {
    if (has_wrong_expectation(folder.filename())) continue;
    const auto model = model::load_model(folder / "model.onnx");
    if (!model) continue;
    const auto inputs = load_in_order(folder / "test_data_set_0", "input", model->graph.inputs);
    const auto expected = load_in_order(folder / "test_data_set_0", "output", model->graph.outputs);
    if (!inputs || !expected) continue;
    const auto actual = run_float(*model, *inputs);
    if (!actual) {
      EXPECT_EQ(actual.error().kind, core::ErrorKind::unsupported) << folder << ": " << actual.error().message;
      ++refused;
      continue;
    }
    ++passed;
    for (const auto& node : model->graph.nodes) covered.insert(node.op_type);
    for (const auto& [name, tensor] : *expected) {
      EXPECT_EQ(difference(tensor, actual->at(name)), "") << folder.filename();
    }
  }
  RecordProperty("passed", static_cast<int>(passed));
  RecordProperty("refused", static_cast<int>(refused));
  EXPECT_GT(passed, 400U);
  EXPECT_GT(covered.size(), 80U);
  for (const char* op : {"GatherElements", "If", "STFT", "ScatterElements"}) EXPECT_TRUE(covered.contains(op)) << op;
}

}  // namespace
}  // namespace assay::embedded::engine::test
