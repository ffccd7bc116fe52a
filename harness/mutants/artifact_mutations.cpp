#include "harness/mutants/artifact_mutations.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "harness/mutants/mutation_places.hpp"
#include "harness/mutants/mutation_rows.hpp"

namespace assay::mutants {
namespace {

constexpr std::array kTable{
    MutationRow{"scale", "an activation's scale, on both sides of its pair", &rows::scale},
    MutationRow{"zero_point", "an activation's zero point, on both sides of its pair", &rows::zero_point},
    MutationRow{"one_side_scale", "a scale on one side of a pair alone", &rows::one_side_scale},
    MutationRow{"one_side_zero_point", "a zero point on one side of a pair alone", &rows::one_side_zero_point},
    MutationRow{"other_quantizer", "a pair has the parameters of another tensor", &rows::other_quantizer},
    MutationRow{"pair_removed", "a tensor is not quantized", &rows::pair_removed},
    MutationRow{"pair_added", "a tensor is rounded twice", &rows::pair_added},
    MutationRow{"weight_scale", "one scale of a weight", &rows::weight_scale},
    MutationRow{"weight_zero_point", "one zero point of a weight", &rows::weight_zero_point},
    MutationRow{"weight_value", "one quantized value of a weight", &rows::weight_value},
    MutationRow{"channel_scales", "per-axis scales, each that of the next channel", &rows::channel_scales_rolled},
    MutationRow{"quantizer_axis", "per-axis scales along another axis", &rows::quantizer_axis},
    MutationRow{"bias", "one quantized value of a bias", &rows::bias},
    MutationRow{"bias_scale", "one scale of a bias", &rows::bias_scale},
    MutationRow{"float_constant", "one value of a constant that stayed in float", &rows::float_constant},
    MutationRow{"integer_constant", "one value of a list of integers: a shape, indices, pads", &rows::integer_constant},
    MutationRow{"pads", "pads moved by one, the shape kept", &rows::pads},
    MutationRow{"float_attribute", "a number: epsilon, alpha, beta", &rows::float_attribute},
    MutationRow{"integer_attribute", "an integer: axis, group, keepdims", &rows::integer_attribute},
    MutationRow{"list_attribute", "a list: strides, dilations, perm, axes", &rows::list_attribute},
    MutationRow{"word_attribute", "a word: mode, rounding, padding", &rows::word_attribute},
    MutationRow{"operands_swapped", "two inputs of one node swapped", &rows::operands_swapped},
    MutationRow{"operand_twice", "one input of a node read twice", &rows::operand_twice},
    MutationRow{"operand_of_another", "a node reads another tensor of the same shape", &rows::operand_of_another},
    MutationRow{"node_removed", "a node is left out", &rows::node_removed},
    MutationRow{"node_doubled", "a node is done twice", &rows::node_doubled},
};

}  // namespace

std::span<const MutationRow> mutation_table() { return kTable; }

std::optional<Mutant> make_mutant(const model::Model& artifact, const std::vector<ArtifactGraph>& graphs,
                                  std::uint64_t seed, std::string_view label, std::size_t index) {
  core::Rng rng(seed, fmt::format("{}#{}", label, index));
  constexpr std::size_t kTries = 64;
  for (std::size_t attempt = 0; attempt < kTries; ++attempt) {
    const std::size_t row = attempt == 0 ? index % kTable.size() : rows::pick_index(std::ssize(kTable), rng);
    const ArtifactGraph& where = *rows::pick(graphs, rng);
    Draft draft{*where.graph, where.tensors};
    std::optional<Defect> defect = kTable[row].apply(draft, rng);
    if (!defect) continue;
    return Mutant{edited(artifact, where.path, [&](model::Graph& graph) { graph = std::move(draft.graph); }),
                  kTable[row].kind, *std::move(defect)};
  }
  return std::nullopt;
}

}  // namespace assay::mutants
