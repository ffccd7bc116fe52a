#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "converters/converter.hpp"
#include "harness/core/result.hpp"
#include "harness/judge/judge.hpp"
#include "harness/programs/given_files.hpp"

namespace assay::metamorphic {

struct MadeTwin;
struct Relation;

/// What came of the relations that were asked for.
struct RelationReport {
  std::vector<judge::Finding> findings;     ///< of layer L3, one for each relation that does not hold
  std::vector<std::string> held, broken;    ///< names
  std::vector<std::string> not_applicable;  ///< "name: reason"
  std::optional<judge::Judgement>
      fallen;  ///< the converter crashed, hung or ran out of memory on a twin; none is asked after
};

/// The twins of one case. What does not depend on the converter is made once for all checks: the twin, its files, and
/// whether the float network itself has the relation. The model and the calibration batches of the evidence must not
/// change while this lives. Not for use from two threads.
class Twins {
 public:
  /// Twins are written below `folder`, which exists.
  explicit Twins(std::filesystem::path folder);
  Twins(const Twins&) = delete;
  Twins& operator=(const Twins&) = delete;
  ~Twins();

  /// Converts and executes the twin of each named relation and compares its outputs with those in `evidence`, bit for
  /// bit, over all data sets that ran.
  /// Errors   io; a converter that fails on a twin is a finding.
  [[nodiscard]] core::Result<RelationReport> check(converters::Converter& converter, programs::GivenFiles& given,
                                                   const judge::Evidence& evidence,
                                                   const std::vector<std::string>& names);
  /// All twins and their files are to be made anew.
  void forget();

 private:
  [[nodiscard]] MadeTwin& made(const Relation& relation, const judge::Evidence& evidence);

  std::filesystem::path folder_;
  std::map<std::pair<std::string_view, const void*>, std::unique_ptr<MadeTwin>> made_;  ///< by relation and batches
};

}  // namespace assay::metamorphic
