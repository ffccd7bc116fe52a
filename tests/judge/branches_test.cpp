// An If in an artifact's walk: the branch that it takes, node by node.
#include "harness/judge/enclosures/branches.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "tests/judge/numeric_fixture.hpp"

namespace assay::judge::testing::branches {
namespace {

const char* const kText =
    "g (float[2] x, bool chosen, bool inner) => (float[2] y) {"
    "  y = If (chosen) <then_branch = t () => (float[2] a) {"
    "        e = Mul (x, k)"
    "        a = If (inner) <then_branch = u () => (float[2] c) { c = Add (e, x) },"
    "                        else_branch = v () => (float[2] n) { n = Neg (e) }> },"
    "      else_branch = f () => (float[2] b) { b = Det (x) }> }";

Enclosure flag(bool value) {
  return exact_enclosure(
      std::make_shared<const Tensor>(core::DType::boolean, Shape{}, std::vector<std::int64_t>{value ? 1 : 0}));
}

/// x in [1, 3] and [-2, 2], k = (10, -10).
std::map<std::string, Enclosure> tensors() {
  std::map<std::string, Enclosure> known;
  known["x"] = enclosure_around(std::make_shared<const Tensor>(reals({2}, {2, 0})), std::vector<double>{1, 2});
  known["k"] = exact_enclosure(std::make_shared<const Tensor>(reals({2}, {10, -10})));
  known["chosen"] = flag(true);
  known["inner"] = flag(true);
  return known;
}

core::Result<std::vector<Enclosure>> enclosed(const model::Node& node, const std::map<std::string, Enclosure>& known) {
  const BranchScope around{[&](const std::string& name) {
                             const auto found = known.find(name);
                             return found == known.end() ? nullptr : &found->second;
                           },
                           [](const std::string&) { return std::int64_t{16}; }};
  return enclose_branch(node, around, Arithmetic{});
}

TEST(EncloseBranch, FollowsTheBranchThatIsTakenAndThoseInside) {
  const model::Node node = parse(kText, {{"k", reals({2}, {10, -10})}}).graph.nodes[0];
  auto known = tensors();
  auto y = enclosed(node, known);
  ASSERT_TRUE(y) << y.error().message;
  EXPECT_EQ(y->front().low_or_centre().to_reals(), (std::vector<double>{11, -22}));
  EXPECT_EQ(y->front().high_or_centre().to_reals(), (std::vector<double>{33, 22}));
  known["inner"] = flag(false);
  y = enclosed(node, known);
  ASSERT_TRUE(y) << y.error().message;
  EXPECT_EQ(y->front().low_or_centre().to_reals(), (std::vector<double>{-30, -20}));
  EXPECT_EQ(y->front().high_or_centre().to_reals(), (std::vector<double>{-10, 20}));
}

TEST(EncloseBranch, StopsAtWhatIsNotKnown) {
  const model::Node node = parse(kText, {{"k", reals({2}, {10, -10})}}).graph.nodes[0];
  auto known = tensors();
  known["chosen"] = flag(false);
  EXPECT_FALSE(enclosed(node, known));  // Det has no bound
  known = tensors();
  known.erase("k");
  EXPECT_FALSE(enclosed(node, known));
  known = tensors();
  known.erase("chosen");
  EXPECT_FALSE(enclosed(node, known));
}

TEST(SameBranches, DifferWhereAnOperatorOrAConstantDoes) {
  const auto branch_of = [](const std::string& op, double constant) {
    model::Node node =
        parse("g (float[2] x, bool c) => (float[2] y) { y = If (c) <then_branch = t () => (float[2] a) { a = " + op +
                  " (x) }, else_branch = f () => (float[2] b) { b = Abs (x) }> }",
              {})
            .graph.nodes[0];
    node.attributes["value"] = std::make_shared<const Tensor>(reals({1}, {constant}));
    return node;
  };
  EXPECT_TRUE(same_branches(branch_of("Neg", 1), branch_of("Neg", 1)));
  EXPECT_FALSE(same_branches(branch_of("Neg", 1), branch_of("Exp", 1)));
  EXPECT_FALSE(same_branches(branch_of("Neg", 1), branch_of("Neg", 2)));
}

}  // namespace
}  // namespace assay::judge::testing::branches
