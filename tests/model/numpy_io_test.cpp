#include "harness/model/numpy_io.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/core/files.hpp"
#include "tests/support/source_tree.hpp"

namespace assay::model {
namespace {

using core::DType;
using testing::ElementsAre;
using testing::HasSubstr;

class NumPyFile : public testing::Test {
 protected:
  void SetUp() override {
    core::Result<core::TemporaryFolder> folder = core::TemporaryFolder::create();
    ASSERT_TRUE(folder.ok());
    folder_.emplace(*std::move(folder));
  }

  /// Writes format 1.0 with this header and these elements.
  core::Result<core::Tensor> load(const std::string& header, const std::string& data) {
    std::string bytes = "\x93NUMPY";
    bytes += '\x01';
    bytes += '\0';
    bytes += static_cast<char>(header.size());
    bytes += '\0';
    const std::filesystem::path file = folder_->path() / "a.npy";
    EXPECT_TRUE(core::write_file(file, bytes + header + data).ok());
    return load_npy(file);
  }

  std::optional<core::TemporaryFolder> folder_;
};

TEST_F(NumPyFile, IsReadInRowOrder) {
  const auto tensor = load("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }", "abcdef");
  ASSERT_TRUE(tensor.ok()) << tensor.error().message;
  EXPECT_THAT(tensor->shape(), ElementsAre(2, 3));
  EXPECT_THAT(tensor->integers(), ElementsAre('a', 'b', 'c', 'd', 'e', 'f'));
}

TEST_F(NumPyFile, IsReadInColumnOrder) {
  const auto tensor = load("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", "adbecf");
  ASSERT_TRUE(tensor.ok()) << tensor.error().message;
  EXPECT_THAT(tensor->integers(), ElementsAre('a', 'b', 'c', 'd', 'e', 'f'));
}

TEST_F(NumPyFile, HoldsScalars) {
  const auto tensor = load("{'descr': '<i4', 'fortran_order': False, 'shape': (), }", std::string("\x07\0\0\0", 4));
  ASSERT_TRUE(tensor.ok()) << tensor.error().message;
  EXPECT_EQ(tensor->rank(), 0);
  EXPECT_EQ(tensor->as_real(0), 7);
}

TEST_F(NumPyFile, MustHoldItsShape) {
  const auto tensor = load("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }", "abcde");
  ASSERT_FALSE(tensor.ok());
  EXPECT_THAT(tensor.error().message, HasSubstr("[2,3]"));
}

TEST_F(NumPyFile, RefusesTypesItDoesNotKnow) {
  const auto tensor = load("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "abcd");
  ASSERT_FALSE(tensor.ok());
  EXPECT_THAT(tensor.error().message, HasSubstr(">f4"));
}

TEST_F(NumPyFile, RefusesOtherFormats) {
  ASSERT_TRUE(core::write_file(folder_->path() / "a.npy", "not an array at all").ok());
  EXPECT_FALSE(load_npy(folder_->path() / "a.npy").ok());
  ASSERT_TRUE(core::write_file(folder_->path() / "a.npz", "not an archive at all").ok());
  EXPECT_FALSE(load_npz(folder_->path() / "a.npz").ok());
}

TEST(NumPyArchive, HoldsArraysByName) {
  const auto arrays = load_npz(test::test_data() / "trt861" / "three_inputs.calibration.npz");
  ASSERT_TRUE(arrays.ok()) << arrays.error().message;
  EXPECT_EQ(arrays->size(), 3U);
  for (const auto& [name, array] : *arrays) {
    EXPECT_EQ(array.shape().front(), 8) << name;
  }
}

}  // namespace
}  // namespace assay::model
