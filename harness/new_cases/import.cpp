#include "harness/new_cases/import.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/conformance/conform.hpp"
#include "harness/core/counted.hpp"
#include "harness/core/text.hpp"
#include "harness/corpus/write_case.hpp"
#include "harness/data/user_data.hpp"
#include "harness/model/onnx_io.hpp"
#include "harness/new_cases/polygraphy.hpp"
#include "reference/infer.hpp"

namespace assay::new_cases {
namespace fs = std::filesystem;
using nlohmann::ordered_json;

namespace {

core::Error invalid(std::string message) { return {core::ErrorKind::invalid_data, std::move(message), {}, {}, {}}; }

core::Result<model::Model> checked_model(const fs::path& file) {
  core::Result<model::Model> model = model::load_model(file);
  if (!model) return model.error().within(file.string());
  if (const core::Status status = reference::check_declarations(*model); !status) {
    return status.error().within(file.string());
  }
  return model;
}

/// Words that hold for every imported case.
ordered_json words_of(const std::string& title, const model::Model& model) {
  std::set<std::string> operators;
  for (const model::Node& node : model.graph.nodes) operators.insert(node.op_type);
  ordered_json tags{"imported"};
  if (model::is_quantized(model.graph)) tags.push_back("qdq");
  for (const std::string& type : operators) tags.push_back(type);
  return {{"title", corpus::escaped(title)}, {"tags", std::move(tags)}};
}

/// A file's tensor as an input; one without a name is the input of the file's number, as ONNX's runner binds it.
core::Result<core::TensorMap> read_set(const fs::path& folder, const model::Model& model) {
  core::TensorMap inputs;
  std::error_code code;
  for (std::size_t index = 0; fs::exists(folder / fmt::format("input_{}.pb", index), code); ++index) {
    const fs::path file = folder / fmt::format("input_{}.pb", index);
    core::Result<model::NamedTensor> read = model::load_tensor(file);
    if (!read) return read.error().within(file.string());
    if (read->name.empty() && index < model.graph.inputs.size()) read->name = model.graph.inputs[index].name;
    if (!inputs.emplace(read->name, std::move(read->tensor)).second) {
      return invalid(fmt::format("{}: a second tensor \"{}\"", file.string(), read->name));
    }
  }
  return inputs;
}

core::Result<CaseDraft> from_folder(const fs::path& folder, const std::string& name) {
  core::Result<model::Model> model = checked_model(folder / "model.onnx");
  if (!model) return model.error();
  CaseDraft draft;
  draft.name = name;
  draft.as_file = true;
  draft.words = words_of("imported from a folder in ONNX's test layout", *model);
  draft.data = data::UserData{};
  std::error_code code;
  bool outputs = false;
  for (std::size_t index = 0; fs::is_directory(folder / fmt::format("test_data_set_{}", index), code); ++index) {
    const fs::path set = folder / fmt::format("test_data_set_{}", index);
    core::Result<core::TensorMap> inputs = read_set(set, *model);
    if (!inputs) return inputs.error();
    core::Result<core::TensorMap> bound = data::bind_user_data(*std::move(inputs), *model, index);
    if (!bound) return bound.error().within(set.string());
    draft.data->inputs.push_back(*std::move(bound));
    outputs = outputs || fs::exists(set / "output_0.pb", code);
  }
  if (draft.data->inputs.empty()) return invalid(fmt::format("\"{}\" holds no test_data_set_0", folder.string()));
  if (outputs) {
    const judge::Judgement judgement = conformance::conform(folder).judgement;
    if (judgement.gate == judge::Gate::red) {
      return invalid(
          fmt::format("\"{}\": the stored outputs are not those of the model: {}", folder.string(), judgement.reason));
    }
  }
  draft.model = *std::move(model);
  return draft;
}

core::Result<CaseDraft> from_file(const ImportRequest& request, const std::string& name) {
  core::Result<model::Model> model = checked_model(request.path);
  if (!model) return model.error();
  CaseDraft draft;
  draft.name = name;
  draft.as_file = true;
  draft.words = words_of(model::is_quantized(model->graph) ? "an imported Q/DQ export: its parameters are to be kept"
                                                           : "an imported model",
                         *model);
  if (!request.inputs.empty()) {
    core::Result<std::vector<core::TensorMap>> batches = load_polygraphy_inputs(request.inputs);
    if (!batches) return batches.error();
    draft.data = data::UserData{};
    for (std::size_t index = 0; index < batches->size(); ++index) {
      core::Result<core::TensorMap> bound = data::bind_user_data(std::move((*batches)[index]), *model, index);
      if (!bound) return bound.error().within(request.inputs.string());
      draft.data->inputs.push_back(*std::move(bound));
    }
  }
  if (!request.float_original.empty()) {
    if (!model::is_quantized(model->graph)) {
      return invalid(fmt::format("\"{}\" has no QuantizeLinear or DequantizeLinear; --float goes with a Q/DQ export",
                                 request.path.string()));
    }
    const core::Result<model::Model> original = checked_model(request.float_original);
    if (!original) return original.error();
    draft.beside[".float.onnx"] = request.float_original;
  }
  draft.model = *std::move(model);
  return draft;
}

}  // namespace

core::Result<std::vector<CaseDraft>> import_drafts(const ImportRequest& request) {
  std::error_code code;
  const fs::path path = fs::absolute(request.path, code).lexically_normal();
  const fs::path place = path.has_filename() ? path : path.parent_path();
  const bool folder = fs::is_directory(place, code);
  if (folder && !(request.inputs.empty() && request.float_original.empty())) {
    return invalid("--load-inputs and --float go with a model file, not with a folder");
  }
  std::vector<fs::path> folders;
  if (folder && fs::exists(place / "model.onnx", code)) {
    folders.push_back(place);
  } else if (folder) {
    for (const fs::directory_entry& entry : fs::directory_iterator(place, code)) {
      if (fs::exists(entry.path() / "model.onnx", code)) folders.push_back(entry.path());
    }
    std::sort(folders.begin(), folders.end());
  }
  if (folder && folders.empty()) {
    return invalid(
        fmt::format("\"{}\" holds nothing to import: no model.onnx with test_data_set_0, here or one folder "
                    "down; name the file of another model",
                    request.path.string()));
  }
  if (folders.size() > 1 && !request.name.empty()) {
    return invalid(fmt::format("\"{}\" holds {}; --name names one", request.path.string(),
                               core::counted(folders.size(), "model")));
  }
  std::vector<CaseDraft> drafts;
  const auto add = [&](core::Result<CaseDraft> draft) -> core::Status {
    if (!draft) return draft.error();
    drafts.push_back(*std::move(draft));
    return core::success();
  };
  const auto named = [&](const std::string& own) { return request.name.empty() ? case_name(own) : request.name; };
  if (!folder) {
    if (core::Status status = add(from_file(request, named(place.stem().string()))); !status) return status.error();
  }
  for (const fs::path& each : folders) {
    if (core::Status status = add(from_folder(each, named(each.filename().string()))); !status) return status.error();
  }
  return drafts;
}

}  // namespace assay::new_cases
