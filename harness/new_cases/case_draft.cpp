#include "harness/new_cases/case_draft.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "harness/core/confined.hpp"
#include "harness/core/staging.hpp"
#include "harness/corpus/data_sets.hpp"
#include "harness/corpus/suite.hpp"
#include "harness/corpus/write_case.hpp"
#include "harness/data/stored_data.hpp"
#include "harness/model/onnx_io.hpp"
#include "harness/new_cases/describe_model.hpp"

namespace assay::new_cases {
namespace fs = std::filesystem;
using nlohmann::ordered_json;

namespace {

core::Status check_name(const std::string& name) {
  if (name.empty() || case_name(name) != name) {
    return core::usage_error(fmt::format("\"{}\" is no name of a case: letters, digits, - and _", name));
  }
  const core::Result<std::vector<corpus::Case>> corpus = corpus::load_corpus();
  if (!corpus) return corpus.error();
  const auto same = std::ranges::find(*corpus, name, &corpus::Case::family);
  if (same == corpus->end()) return core::success();
  return core::usage_error(
      fmt::format("there is a case \"{}\" already, in {}; give another --name", name, same->file.string()));
}

/// Inputs that nobody described: data sets as for a model of the user's; a symbolic extent is 1 on the first axis and
/// 32 elsewhere.
void complete_inputs(const CaseDraft& draft, ordered_json& json) {
  constexpr std::int64_t kFreeExtent = 32;
  for (const model::ValueInfo& input : draft.model->graph.inputs) {
    const std::string name = corpus::escaped(input.name);
    ordered_json& spec = json["inputs"][name];
    if (spec.is_null()) spec = ordered_json::object();
    if (draft.data) spec["data"] = {"typical"};  // what is stored is all there is
    if (!spec.contains("data")) spec["data"] = corpus::usual_data_sets(draft.model->graph);
    if (spec.contains("shape") || !input.shape) continue;
    std::vector<std::int64_t> shape;
    bool symbolic = false;
    for (const model::Dimension& each : *input.shape) {
      symbolic = symbolic || !each.value;
      shape.push_back(each.value.value_or(shape.empty() ? 1 : kFreeExtent));
    }
    if (draft.data) shape = draft.data->inputs.front().at(input.name).shape();
    if (symbolic) spec["shape"] = shape;
  }
}

core::Status write_files(const CaseDraft& draft, const fs::path& folder, bool& described) {
  ordered_json json{{"family", draft.name}};
  json.update(draft.words);
  complete_inputs(draft, json);
  const std::optional<ordered_json> text = draft.as_file ? std::nullopt : described_model(*draft.model);
  described = text.has_value();
  core::Status status = core::success();
  if (described) {
    json.update(*text);
  } else {
    json["model"] = draft.name + ".onnx";
    status = model::save_model(*draft.model, folder / (draft.name + ".onnx"));
  }
  if (status && draft.data) {
    json["stored_data"] = draft.name;
    status = data::save_stored_data(*draft.data, folder / draft.name);
  }
  for (const auto& [suffix, file] : draft.beside) {
    if (status) status = core::copy_tree(file, folder / (draft.name + suffix));
  }
  if (!status) return status;
  return core::write_file(folder / (draft.name + ".json"), json.dump(2) + "\n");
}

}  // namespace

std::string case_name(const std::string& text) {
  std::string name = text;
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0 && c != '_' && c != '-'; }, '_');
  return name;
}

core::Result<StagedCase> StagedCase::create(const CaseDraft& draft) {
  if (core::Status status = check_name(draft.name); !status) return status.error();
  core::Result<core::TemporaryFolder> folder = core::TemporaryFolder::create();
  if (!folder) return folder.error();
  StagedCase staged(*std::move(folder), draft.name);
  if (core::Status status = write_files(draft, staged.folder_.path(), staged.described_); !status) {
    return status.error();
  }
  core::Result<std::vector<corpus::Case>> cases = corpus::load_family(staged.folder_.path() / (draft.name + ".json"));
  if (!cases) return cases.error();
  if (cases->size() != 1) return core::usage_error("the draft is more than one case");
  staged.case_ = std::move(cases->front());
  return staged;
}

std::vector<fs::path> StagedCase::files() const {
  const std::string index = name_ + ".json";
  std::vector<fs::path> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_.path())) {
    if (entry.path().filename() != index) names.push_back(entry.path().filename());
  }
  names.emplace_back(index);  // last: until it lies there, nothing is registered
  return names;
}

void StagedCase::withdraw(const fs::path& folder) const {
  std::error_code ignored;
  for (const fs::path& name : files()) fs::remove_all(folder / name, ignored);
}

core::Result<fs::path> StagedCase::commit(const fs::path& folder) const {
  const std::vector<fs::path> names = files();
  std::error_code code;
  for (const fs::path& name : names) {
    if (fs::exists(folder / name, code))
      return core::usage_error(fmt::format("\"{}\" exists already", (folder / name).string()));
  }
  if (core::Status status = core::make_folder(folder); !status) return status.error();
  for (const fs::path& name : names) {
    if (core::Status status = core::copy_tree(folder_.path() / name, folder / name); !status) {
      withdraw(folder);
      return status.error();
    }
  }
  return folder / names.back();
}

}  // namespace assay::new_cases
