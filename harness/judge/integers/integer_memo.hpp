#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/alignment/layers.hpp"
#include "harness/judge/enclosures/execution_style.hpp"
#include "harness/judge/evidence/code_tensors.hpp"

namespace assay::judge {

/// What one style makes of every data set.
struct StyleResult {
  const Style* style = nullptr;
  bool agrees = false;
  const Execution* against = nullptr;  ///< the first data set that the style does not explain
  std::size_t refuted = 0;             ///< how many of the styles explain nothing
  std::int64_t compared = 0, ambiguous = 0;
  bool open = false;       ///< codes inside the artifact are uncertain, or could not be followed
  std::string stopped_at;  ///< the first node that could not be followed and why
  std::string data_set;    ///< of `stopped_at`
  /// For each data set, what the quantizers gave, until one is ambiguous.
  std::vector<CodeTensors> codes;
};

/// The style that explained the newest conversion. Where another option set of the case gives the same artifact and
/// outputs, as of a model that holds its parameters itself, the same style explains them: options play no part in L1.
class IntegerMemo {
 public:
  /// Nothing where artifact, precision map, stated arithmetic, inputs or outputs are others. What was traced then is
  /// put into `executions`.
  [[nodiscard]] const StyleResult* find(const Evidence& evidence, std::vector<Execution*>& executions) const;
  void keep(const Evidence& evidence, const std::vector<Execution*>& executions, const StyleResult& result);

 private:
  struct Kept {
    std::shared_ptr<const model::Model> artifact;
    std::vector<converters::NodePrecision> precision;
    converters::EngineArithmetic arithmetic;
    std::vector<Execution> executions;
    StyleResult result;
  };
  std::optional<Kept> kept_;
};

}  // namespace assay::judge
