// What outputs or reported scales alone leave open: correct conversions of such graphs are green at every kind.
#include <gmock/gmock.h>

#include "tests/cli/home.hpp"

namespace assay::test {
namespace {

using testing::HasSubstr;

class OpenForms : public HomeTest, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    HomeTest::SetUp();
    write(
        "cases/forms.json",
        R"json({ "family": "forms", "title": "what by outputs or scales alone is open", "tags": ["Gemm"], "opset": 13, "kills": ["scale_doubled"],
  "forms": {
    "matrix_bias": { "title": "a Gemm that adds a matrix stays in float", "graph": ["agraph (float[24,18] x) => (float[24,12] y) { y = Gemm (x, w, c) }"],
      "initializers": { "w": { "shape": [18, 12] }, "c": { "shape": [24, 12] } }, "inputs": { "x": { "data": ["typical"], "range": [-1.2, 2.1] } } },
    "matrix_bias_inside": { "title": "the same before another product", "graph": ["agraph (float[24,18] x) => (float[24,7] y) {", "  t = Gemm (x, w, c)", "  y = MatMul (t, v)", "}"],
      "initializers": { "w": { "shape": [18, 12] }, "c": { "shape": [24, 1] }, "v": { "shape": [12, 7] } }, "inputs": { "x": { "data": ["typical"], "range": [-1.2, 2.1] } } },
    "table": { "title": "rows of a table", "graph": ["agraph (int64[5] i) => (float[5,24] y) { y = Gather (w, i) }"],
      "initializers": { "w": { "shape": [7, 24] } }, "inputs": { "i": { "data": ["typical"], "kind": "uniform", "range": [0, 6] } } },
    "table_read": { "title": "rows of a table, read by a function", "graph": ["agraph (int64[5] i) => (float[5,24] y) {", "  t = Gather (w, i)", "  y = LeakyRelu <alpha=0.6875> (t)", "}"],
      "initializers": { "w": { "shape": [7, 24] } }, "inputs": { "i": { "data": ["typical"], "kind": "uniform", "range": [0, 6] } } },
    "constant_output": { "title": "an output of constants alone", "graph": ["agraph (float[8,24] x) => (float[8,3] y, float[3,11] z) {", "  v = Transpose <perm=[1,0]> (w)", "  y = MatMul (x, v)", "  z = Gemm <transA=1> (v, u, b)", "}"],
      "initializers": { "w": { "shape": [3, 24] }, "u": { "shape": [24, 11] }, "b": { "shape": [3, 1] } }, "inputs": { "x": { "data": ["typical"], "range": [-1.2, 2.1] } } },
    "join": { "title": "a join of what was pooled", "graph": ["agraph (float[2,8,12,9] x, float[2,5,4,3] z) => (float[2,13,4,3] y) {", "  p = MaxPool <kernel_shape=[3,3], strides=[3,3]> (x)", "  c = Concat <axis=1> (p, z)", "  y = AveragePool <kernel_shape=[1,1]> (c)", "}"],
      "inputs": { "x": { "data": ["typical"], "range": [-1.4, 1.1] }, "z": { "data": ["typical"], "range": [-0.3, 0.5] } } },
    "copy": { "title": "a copy of an inner tensor", "graph": ["agraph (float[3,2,10,8] x) => (float[3,2,10,8] y, float[3,2,10,8] z) {", "  t = HardSigmoid <alpha=0.17> (x)", "  y = Mul (x, t)", "  z = Identity (t)", "}"],
      "inputs": { "x": { "data": ["typical"], "range": [-2.4, 2.1] } } },
    "one_bias": { "title": "one bias for all groups", "graph": ["agraph (float[2,4,5,5] x) => (float[2,6,6,6] y) { y = ConvTranspose <kernel_shape=[2,2], group=2> (x, w, b) }"],
      "initializers": { "w": { "shape": [4, 3, 2, 2] }, "b": { "shape": [6], "std": 0.2 } }, "inputs": { "x": { "data": ["typical"], "range": [-1.2, 2.1] } } } } })json");
  }
};

TEST_P(OpenForms, OfACorrectConversionAreGreen) {
  const Call call = run({"run", "forms*", "--converter", GetParam()});
  EXPECT_THAT(call.out, HasSubstr("8 planned: 8 pass")) << call.err;
}

/// Scales twice as large show in all of them but the Gemm that stays in float.
TEST_P(OpenForms, OfAWrongOneAreRed) {
  const Call call = run({"run", "forms*", "--converter", GetParam(), "--fault", "scale_doubled"});
  EXPECT_THAT(call.out, HasSubstr("8 planned: 7 fail, 1 pass")) << call.err;
}

INSTANTIATE_TEST_SUITE_P(Kinds, OpenForms, testing::Values("embedded", "embedded:scales", "embedded:opaque"),
                         [](const auto& param) {
                           const std::string name = param.param;
                           return name == "embedded" ? "qdq" : name.substr(name.find(':') + 1);
                         });

}  // namespace
}  // namespace assay::test
