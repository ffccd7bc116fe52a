#include "harness/core/counted.hpp"

#include <gtest/gtest.h>

namespace assay::core {
namespace {

TEST(Counted, SaysTheNounInTheSingularOfOneOnly) {
  EXPECT_EQ(counted(0, "node"), "0 nodes");
  EXPECT_EQ(counted(1, "node"), "1 node");
  EXPECT_EQ(counted(2, "node"), "2 nodes");
}

TEST(Counted, TakesAPluralThatIsNotMadeWithAnS) {
  EXPECT_EQ(counted(1, "batch", "batches"), "1 batch");
  EXPECT_EQ(counted(3, "batch", "batches"), "3 batches");
  EXPECT_EQ(counted(1, "verdict is", "verdicts are"), "1 verdict is");
}

}  // namespace
}  // namespace assay::core
