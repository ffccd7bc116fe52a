#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/model/graph.hpp"

namespace assay::judge {

/// Does `text` speak of the tensor or node `name`? It stands there as a word of its own, and as a name: in quotes or
/// brackets, behind a noun such as "tensor", or unlike a word of prose (with digits, underscores, slashes): the "a" in
/// "a scale is missing" names nothing.
[[nodiscard]] bool mentions(std::string_view text, std::string_view name);

/// Does `word` stand in `text` with no letter, digit or name going on before or behind it?
[[nodiscard]] bool has_word(std::string_view text, std::string_view word);

/// What a conversion was given beside the model, which a refusal may be about instead of a node or tensor of it.
struct GivenBeside {
  std::string cache;               ///< path of a calibration cache; "" for none
  std::vector<std::string> extra;  ///< tensors of the feed that are no inputs
};

/// What a refusal or an error leaves out of node (or tensor), operator and reason, or says wrongly; empty where it is
/// complete. Where only a tensor is named (data that don't fit), no operator is asked for; a fed file that can't be
/// read ("input_0.pb") stands for its tensor. A reason that names what was given beside the model needs no tensor; of a
/// cache, its file or the word.
[[nodiscard]] std::vector<std::string> diagnosis_faults(const model::Graph& graph, const std::string& node,
                                                        const std::string& op, const std::string& reason,
                                                        const GivenBeside& given = {});

}  // namespace assay::judge
