#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace assay::judge {

/// What becomes of a constant operand of an operator on codes whose scale nobody tells.
enum class ConstantForm {
  as_activations,  ///< rounded on its own range, as the options have it of activations
  as_weights,      ///< rounded on its largest magnitude, with one scale
  real,            ///< left as it is
};

/// What a prediction takes for granted of nodes that somebody asked for in one precision: no policy says how far around
/// a node in float values stay real.
struct Supposed {
  std::map<std::size_t, bool> in_float;          ///< by operation, in place of what is reported or asked for
  std::set<std::string, std::less<>> stay_real;  ///< tensors that are not rounded
  /// What computes by its attributes has a range of its own, though the policy lists its operator in `shares`.
  bool own_ranges = false;
  /// Graph outputs are given out as computed, and so is what nodes that only move make outputs of, where the policy
  /// doesn't round them.
  bool real_outputs = false;
  /// What goes into a join that shares scales has the join's for all of its readers.
  bool joined_scales = false;
  /// A join's own range covers what its operands' codes reach to, which have their range from what they are moved from;
  /// otherwise what its values reach to.
  bool covering_joins = false;
  /// Sums, and what a join brings to another scale, are rounded twice: a doubling multiplication with a factor from ½
  /// to 1 rounds to a fraction of a step, and the shift behind it to a whole one, both away from zero at ties
  /// (gemmlowp).
  bool rounds_twice = false;
  /// Each group of a ConvTranspose has weight scales of its own; otherwise they share theirs.
  bool own_groups = false;
  /// What nodes in float make is rounded, whoever reads it, and so is what they read of a product that would have taken
  /// them in.
  bool rounds_around_float = false;
  /// Nothing: real where scales are reported, else like activations.
  std::optional<ConstantForm> constants = std::nullopt;
  /// A weight of several matrices has scales along its channels, which all of them share; otherwise it has one.
  bool matrices_by_channel = false;
  /// Branches and bodies read the values of the tensors around them, not what codes leave of them.
  bool bodies_read_real = false;
  /// A Gemm whose C is a matrix is on codes, the matrix added to its sums; otherwise it stays in float.
  bool matrix_bias_on_codes = false;
  /// Ranges whose ends the method leaves open are the narrowest that it allows, not the widest.
  bool narrowest_ranges = false;
};

}  // namespace assay::judge
