#include "harness/localize/candidate.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "harness/core/text.hpp"
#include "harness/corpus/case.hpp"
#include "harness/data/feed_files.hpp"
#include "harness/model/onnx_io.hpp"
#include "reference/executor.hpp"

namespace assay::localize {
namespace {

using core::TensorMap;

void append(std::string& bytes, const core::Tensor& tensor) {
  bytes += core::shape_text(tensor.shape());
  const auto raw = [&](const auto& values) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes of numbers, to be hashed
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  };
  tensor.is_real() ? raw(tensor.reals()) : raw(tensor.integers());
}

core::Status save_batches(const std::vector<TensorMap>& batches, const std::filesystem::path& folder) {
  for (std::size_t i = 0; i < batches.size(); ++i) {
    if (core::Status status = data::write_batch(batches[i], data::batch_folder(folder, i), {}); !status) {
      return status;
    }
  }
  return core::success();
}

}  // namespace

std::size_t Candidate::bytes() const { return model::serialize_model(model).size(); }

std::string Candidate::hash() const {
  std::string bytes = model::serialize_model(model);
  if (artifact != nullptr) bytes += "|" + model::serialize_model(*artifact) + (calibrated ? "c" : "");
  for (const std::vector<TensorMap>* batches : {&calibration, &inputs}) {
    bytes += '|';
    for (const TensorMap& batch : *batches) {
      bytes += '/';
      for (const auto& [name, tensor] : batch) {
        bytes += name;
        append(bytes, tensor);
      }
    }
  }
  return core::sha256_hex(bytes);
}

core::Result<Candidate> make_candidate(const data::UserCase& user) {
  Candidate candidate{*user.test_case.model, {}, {}, {}};
  if (user.data) {
    candidate.calibration = user.data->calibration;
    candidate.inputs = user.data->inputs;
    candidate.inputs_source = user.data->inputs_source;
    return candidate;
  }
  core::Result<std::vector<TensorMap>> batches =
      corpus::calibration_batches(user.test_case, user.test_case.calibration);
  if (!batches) {
    return batches.error();
  }
  candidate.calibration = *std::move(batches);
  candidate.inputs_source = judge::DataSource::generated;
  for (const std::string& set : corpus::data_set_names(user.test_case)) {
    core::Result<TensorMap> inputs = corpus::data_set(user.test_case, set, {});
    if (!inputs) {
      return inputs.error();
    }
    candidate.inputs.push_back(*std::move(inputs));
  }
  return candidate;
}

core::Result<Candidate> make_candidate(const data::UserCase& user, const std::filesystem::path& artifact) {
  core::Result<model::Model> made = model::load_model(artifact);
  if (!made) return made.error().within(artifact.string());
  core::Result<Candidate> candidate = make_candidate(user);
  if (!candidate) return candidate;
  candidate->artifact = std::make_shared<const model::Model>(*std::move(made));
  candidate->calibrated = user.data && user.data->calibrated;
  if (!candidate->calibrated) candidate->calibration.clear();
  return candidate;
}

bool holds_values(const Candidate& candidate) {
  std::map<std::string, bool> zero;  // by output, throughout
  for (const TensorMap& inputs : candidate.inputs) {
    const auto outputs = reference::execute(candidate.model, inputs, {});
    if (!outputs) return true;
    for (const auto& [name, value] : *outputs) {
      if (!value.is_real() || value.reals().empty()) continue;
      if (!std::ranges::all_of(value.reals(), [](double each) { return std::isfinite(each); })) return false;
      const bool nothing = std::ranges::all_of(value.reals(), [](double each) { return each == 0; });
      zero.try_emplace(name, true).first->second &= nothing;
    }
  }
  return std::ranges::none_of(zero, [](const auto& entry) { return entry.second; });
}

data::UserCase as_case(const Candidate& candidate, const std::string& name) {
  data::UserCase user = data::user_case_of(std::make_shared<const model::Model>(candidate.model), name);
  data::UserData given;
  given.calibration = candidate.calibration;
  given.inputs = candidate.inputs;
  given.calibrated = candidate.calibrated;
  given.inputs_source = candidate.inputs_source;
  user.give(std::move(given));
  return user;
}

core::Status save(const Candidate& candidate, const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  for (const char* data : {"calibration", "inputs"}) {
    std::filesystem::remove_all(folder / data, error);
  }
  if (core::Status status = model::save_model(candidate.model, folder / "model.onnx"); !status) {
    return status;
  }
  std::filesystem::remove(folder / "artifact.onnx", error);
  if (candidate.artifact != nullptr) {
    if (core::Status status = model::save_model(*candidate.artifact, folder / "artifact.onnx"); !status) return status;
  }
  if (core::Status status = save_batches(candidate.calibration, folder / "calibration"); !status) {
    return status;
  }
  return save_batches(candidate.inputs, folder / "inputs");
}

}  // namespace assay::localize
