#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/model/graph.hpp"

namespace assay::judge {

/// What is known of an artifact's node when its original is looked for.
struct NodeToMatch {
  std::string name;
  std::string op;                    ///< as a float operator
  std::vector<std::string> outputs;  ///< its outputs, and names that carry the same value further down
  std::vector<std::string> inputs;   ///< where the values that it reads are made
  std::vector<std::int64_t> sizes;   ///< of its constant inputs: how many elements they have; 0 of all others
  bool is_constant = false;          ///< it reads nothing but constants
};

/// For each of `nodes` the node of `original` that it was made from. In this order: same name and operator, but where
/// its constants have the sizes of another such node's and not of this one's (converters number nodes anew); an output
/// of the same name; an output named like the end of the chain (BatchNormalization, activation) that was fused into
/// it; what a matched node reads, operand by operand; position, where both sides have equally many unmatched nodes of
/// the operator. No node is given twice.
[[nodiscard]] std::vector<std::optional<std::size_t>> match_nodes(std::span<const NodeToMatch> nodes,
                                                                  const model::Graph& original);

/// Finds the original's tensor for a tensor of the artifact, by the strongest vote: a graph input of that name, what a
/// matched operator reads there, a graph output, what is made of it by quantizing it again, the same name, what a
/// matched operator makes there.
class OriginalNames {
 public:
  explicit OriginalNames(const model::Graph& original);
  void vote_input(const std::string& tensor);
  void vote_output(const std::string& tensor, const std::string& output_name);
  /// `tensors` are what the artifact's node reads, in the order of `node`'s inputs.
  void vote_consumer(std::string_view op, std::span<const std::string> tensors, const model::Node& node);
  /// `original` is what its codes become the source of by a second quantizer.
  void vote_requantized(const std::string& tensor, const std::string& original);
  void vote_producer(const std::string& tensor, const std::string& original);
  /// Of two tensors of the original, whether one is a copy of the other, its codes, or what these are dequantized to.
  [[nodiscard]] bool same_value(const std::string& a, const std::string& b) const;
  /// "" where nothing speaks for any.
  [[nodiscard]] std::string original(const std::string& tensor) const;

 private:
  enum Strength { kInput, kConsumer, kOutput, kRequantized, kName, kProducer };
  void vote(const std::string& tensor, Strength strength, const std::string& original);
  [[nodiscard]] bool known(std::string_view tensor) const;
  /// What `tensor` is a copy of: Identity is taken away by whoever likes to.
  [[nodiscard]] std::string behind_copies(const std::string& tensor) const;
  [[nodiscard]] const std::string& value_of(const std::string& tensor) const;

  const model::Graph& original_;
  std::map<std::string, bool, std::less<>> known_;
  std::map<std::string, std::string> copied_;  ///< Identity's output → what it copies
  std::map<std::string, std::string> value_;   ///< the same, and of QuantizeLinear and DequantizeLinear
  std::map<std::string, std::map<Strength, std::vector<std::string>>> votes_;
};

}  // namespace assay::judge
