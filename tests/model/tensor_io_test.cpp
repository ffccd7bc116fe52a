#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "harness/core/files.hpp"
#include "harness/model/onnx_io.hpp"

namespace assay::model {
namespace {

using core::DType;
using testing::HasSubstr;

class TensorFiles : public testing::Test {
 protected:
  void SetUp() override {
    core::Result<core::TemporaryFolder> folder = core::TemporaryFolder::create();
    ASSERT_TRUE(folder.ok());
    folder_.emplace(*std::move(folder));
  }
  [[nodiscard]] std::filesystem::path file(const std::string& name) const { return folder_->path() / name; }

  std::optional<core::TemporaryFolder> folder_;
};

TEST_F(TensorFiles, ComeBackTheSameInEveryType) {
  for (const DType type :
       {DType::float32,   DType::float64,      DType::float16,        DType::bfloat16,   DType::int8,
        DType::uint8,     DType::int16,        DType::uint16,         DType::int32,      DType::uint32,
        DType::int64,     DType::boolean,      DType::int4,           DType::uint4,      DType::int2,
        DType::uint2,     DType::float8e4m3fn, DType::float8e4m3fnuz, DType::float8e5m2, DType::float8e5m2fnuz,
        DType::float4e2m1}) {
    const Tensor tensor = core::is_real(type)
                              ? Tensor(type, {3}, std::vector<double>{-1.5, 0.0, 0.5})
                              : Tensor(type, {3}, std::vector<std::int64_t>{0, 1, core::integer_limits(type).high});
    ASSERT_TRUE(save_tensor({"t", tensor}, file("t.pb")).ok());
    const core::Result<NamedTensor> loaded = load_tensor(file("t.pb"));
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    EXPECT_EQ(loaded->name, "t");
    EXPECT_EQ(loaded->tensor, tensor) << core::dtype_name(type);
  }
}

TEST_F(TensorFiles, KeepHalfPrecisionSubnormalsAndInfinities) {
  const double least = std::ldexp(1.0, -24);
  const Tensor tensor(DType::float16, {4}, std::vector<double>{least, -3 * least, 65504.0, -HUGE_VAL});
  ASSERT_TRUE(save_tensor({"t", tensor}, file("t.pb")).ok());
  EXPECT_EQ(load_tensor(file("t.pb"))->tensor, tensor);
}

TEST_F(TensorFiles, AreBoundByNameAndRefuseTheSameNameTwice) {
  ASSERT_TRUE(save_tensor({"b", Tensor::scalar(DType::float32, 1)}, file("input_0.pb")).ok());
  ASSERT_TRUE(save_tensor({"a", Tensor::scalar(DType::float32, 2)}, file("input_1.pb")).ok());
  core::Result<TensorMap> tensors = load_tensors(folder_->path(), "input");
  ASSERT_TRUE(tensors.ok());
  EXPECT_EQ(tensors->find("a")->second.as_real(0), 2);
  ASSERT_TRUE(save_tensor({"a", Tensor::scalar(DType::float32, 3)}, file("input_2.pb")).ok());
  tensors = load_tensors(folder_->path(), "input");
  ASSERT_FALSE(tensors.ok());
  EXPECT_THAT(tensors.error().message, HasSubstr("\"a\" a second time"));
}

TEST_F(TensorFiles, RefuseTruncation) {
  ASSERT_TRUE(save_tensor({"t", Tensor::zeros(DType::float32, {8})}, file("input_0.pb")).ok());
  const std::string bytes = *core::read_file(file("input_0.pb"));
  ASSERT_TRUE(core::write_file(file("input_0.pb"), bytes.substr(0, bytes.size() / 2)).ok());
  const core::Result<TensorMap> tensors = load_tensors(folder_->path(), "input");
  ASSERT_FALSE(tensors.ok());
  EXPECT_THAT(tensors.error().message, HasSubstr("input_0.pb"));
}

TEST(RoundToType, RoundsHalvesToEven) {
  EXPECT_EQ(core::round_to_type(2049.0, DType::float16), 2048.0);  // halfway between 2048 and 2050
  EXPECT_EQ(core::round_to_type(2051.0, DType::float16), 2052.0);
  EXPECT_EQ(core::round_to_type(65520.0, DType::float16), HUGE_VAL);
  EXPECT_EQ(core::round_to_type(1.0 + 0x1p-9, DType::bfloat16), 1.0);
}

}  // namespace
}  // namespace assay::model
