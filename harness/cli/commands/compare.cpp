#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/cli/common.hpp"
#include "harness/cli/print.hpp"
#include "harness/core/counted.hpp"
#include "harness/core/text.hpp"
#include "harness/judge/evidence/deviation.hpp"
#include "harness/model/numpy_io.hpp"
#include "harness/model/onnx_io.hpp"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

struct CompareArguments {
  std::string expected, actual;
  std::string stem = "output";
  bool json = false;
};

/// How one tensor of `expected` compares with the one of the same name.
struct Comparison {
  std::string name;
  std::string difference;  ///< in structure or in integers; empty when there is none
  std::int64_t differing = 0, size = 0;
  double max_error = 0, sqnr_db = 0;
  bool real = false;
};

core::Result<core::TensorMap> load(const fs::path& path, const std::string& stem) {
  if (path.extension() == ".npz") {
    return model::load_npz(path);
  }
  return model::load_tensors(path, stem);
}

Comparison compare_tensors(const std::string& name, const core::Tensor& expected, const core::Tensor& actual) {
  Comparison result;
  result.name = name;
  result.size = expected.size();
  result.real = expected.is_real();
  if (expected.shape() != actual.shape()) {
    result.difference = fmt::format("shape: expected {}, actual {}", core::shape_text(expected.shape()),
                                    core::shape_text(actual.shape()));
    return result;
  }
  if (expected.type() != actual.type()) {
    result.difference =
        fmt::format("type: expected {}, actual {}", core::dtype_name(expected.type()), core::dtype_name(actual.type()));
    return result;
  }
  std::int64_t first = -1;
  for (std::int64_t i = expected.size() - 1; i >= 0; --i) {
    if (expected.as_real(i) != actual.as_real(i)) {
      ++result.differing;
      first = i;
    }
  }
  const judge::Deviation deviation = judge::measure_deviation(expected, actual);
  result.max_error = deviation.largest;
  result.sqnr_db = deviation.sqnr_db();
  if (first >= 0 && (!result.real || std::isnan(deviation.noise))) {
    result.difference =
        fmt::format("element {}: expected {}, actual {}", first, core::exact_text64(expected.as_real(first)),
                    core::exact_text64(actual.as_real(first)));
  }
  return result;
}

core::Result<std::vector<Comparison>> compare(const CompareArguments& arguments) {
  const core::Result<core::TensorMap> expected = load(arguments.expected, arguments.stem);
  const core::Result<core::TensorMap> actual = load(arguments.actual, arguments.stem);
  if (!expected || !actual) {
    return expected ? actual.error() : expected.error();
  }
  std::vector<Comparison> results;
  for (const auto& [name, tensor] : *expected) {
    const auto found = actual->find(name);
    if (found == actual->end()) {
      results.push_back({name, "missing in actual", 0, tensor.size(), 0, 0, false});
    } else {
      results.push_back(compare_tensors(name, tensor, found->second));
    }
  }
  for (const auto& [name, tensor] : *actual) {
    if (!expected->contains(name)) {
      results.push_back({name, "not expected", 0, tensor.size(), 0, 0, false});
    }
  }
  if (results.empty()) {
    return core::Error{core::ErrorKind::invalid_data,
                       fmt::format("neither folder holds a file {}_0.pb; --stem names another", arguments.stem),
                       {},
                       {},
                       {}};
  }
  return results;
}

int compare_command(const CompareArguments& arguments) {
  const core::Result<std::vector<Comparison>> results = compare(arguments);
  if (!results) {
    return report_error(results.error());
  }
  bool differs = false;
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const Comparison& each : *results) {
    differs = differs || !each.difference.empty();
    json.push_back({{"tensor", each.name},
                    {"difference", each.difference},
                    {"differing", each.differing},
                    {"size", each.size},
                    {"max_error", core::exact_text64(each.max_error)},
                    {"sqnr_db", core::exact_text64(each.sqnr_db)}});
    if (!arguments.json) {
      print("{}: {} of {} differ, largest error {:.6g}, SQNR {:.2f} dB{}{}\n", each.name, each.differing,
            core::counted(static_cast<std::uint64_t>(each.size), "element"), each.max_error, each.sqnr_db,
            each.difference.empty() ? "" : "; ", each.difference);
    }
  }
  if (arguments.json) {
    print("{}\n", nlohmann::ordered_json{{"tensors", json}}.dump());
  }
  return differs ? kExitRed : kExitOk;
}

}  // namespace

void register_compare(Command app, Action& action) {
  auto arguments = std::make_shared<CompareArguments>();
  const Command command = app.add_subcommand(
      "compare", "Compare two folders of tensors: names, shapes, types, integers exactly; SQNR and errors of floats");
  command.add_option("expected", arguments->expected, "Folder of output_0.pb …, or .npz").required();
  command.add_option("actual", arguments->actual, "Folder of output_0.pb …, or .npz").required();
  command.add_option("--stem", arguments->stem, "First part of the files' names");
  command.add_flag("--json", arguments->json, "Print one JSON object");
  command.callback([arguments, &action] { action = [arguments] { return compare_command(*arguments); }; });
}

}  // namespace assay::cli
