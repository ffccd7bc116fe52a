#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "converters/converter.hpp"
#include "harness/corpus/case.hpp"
#include "harness/corpus/suite.hpp"
#include "harness/metamorphic/metamorphic.hpp"
#include "harness/run/evaluate.hpp"

/// A bundle is a folder that holds one verdict with everything it was made from (docs/bundle.md). Nothing in it refers
/// to the outside, so that it is judged again anywhere.
namespace assay::bundles {

/// How the command line named the converter.
struct AskedConverter {
  std::string name;     ///< "onnxruntime@1.20.1"; empty where a command was given
  std::string command;  ///< of a program that speaks protocol 1
  std::vector<std::string> faults;
  std::string variant;
};

/// One answer to convert, and the folder that the converter wrote into.
struct Conversion {
  converters::ConvertReply reply;  ///< its files lie in `folder`
  std::filesystem::path folder;
};

/// One data set. Its files lie in `inputs`, `outputs` and `trace` of the bundle, in a folder of its name.
struct RecordedSet {
  std::string name;
  std::optional<converters::ExecuteReply> reply;  ///< nothing where the artifact was not executed on it
  std::vector<std::string> trace;                 ///< tensors of the trace that the judge asked for
};

struct Bundle {
  std::filesystem::path folder;
  corpus::Case test_case;  ///< with the model that lies in the bundle
  corpus::OptionSet options;
  bool options_stated = true;   ///< false: of a ready artifact whose options nobody stated
  bool ready_artifact = false;  ///< nothing was converted: the first conversion's artifact was given
  AskedConverter asked;
  converters::Description description;
  std::vector<Conversion> conversions;  ///< in the order they were asked for; the last one is judged
  std::vector<RecordedSet> sets;
  metamorphic::RelationReport relations;
  data::UserData data;
  /// The verdict as `--json` shows it.
  nlohmann::ordered_json verdict;
  /// What only people read: parameters, environment, packages. Kept by who writes, ignored by who reads.
  nlohmann::ordered_json facts;
};

[[nodiscard]] std::filesystem::path inputs_folder(const std::filesystem::path& bundle, const std::string& set);
[[nodiscard]] std::filesystem::path outputs_folder(const std::filesystem::path& bundle, const std::string& set);
[[nodiscard]] std::filesystem::path trace_folder(const std::filesystem::path& bundle, const std::string& set);

/// Writes `bundle.json` into the bundle's folder; its other files lie there already.
[[nodiscard]] core::Status write_index(const Bundle& bundle);

/// Reads a bundle with its model and data.
/// Errors   invalid_data, naming the file: no bundle, or one of a later format; what is damaged.
[[nodiscard]] core::Result<Bundle> read_bundle(const std::filesystem::path& folder);

/// Parameters as bundle.json shows them: `{"scale": […], "zero_point": […], "type": …, "axis": …}`, and `"block_size":
/// …` where they are of blocks.
[[nodiscard]] nlohmann::ordered_json params_json(const core::QuantParams& params);

}  // namespace assay::bundles
