#include "harness/data/user_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/core/counted.hpp"
#include "harness/core/text.hpp"
#include "harness/model/numpy_io.hpp"
#include "harness/model/onnx_io.hpp"

namespace assay::data {
namespace fs = std::filesystem;

namespace {

core::Error invalid(std::string message, std::string tensor = {}) {
  return {core::ErrorKind::invalid_data, std::move(message), {}, {}, std::move(tensor)};
}

std::string declared_text(const model::ValueInfo& info) {
  std::string text = "[";
  for (std::size_t i = 0; i < info.shape->size(); ++i) {
    const model::Dimension& dimension = (*info.shape)[i];
    text += (i == 0 ? "" : ",") +
            (dimension.value ? std::to_string(*dimension.value) : (dimension.symbol.empty() ? "?" : dimension.symbol));
  }
  return text + "]";
}

bool shape_fits(const core::Shape& shape, const model::ValueInfo& info) {
  if (!info.shape) {
    return true;
  }
  return shape.size() == info.shape->size() &&
         std::equal(shape.begin(), shape.end(), info.shape->begin(),
                    [](std::int64_t have, const model::Dimension& want) { return !want.value || *want.value == have; });
}

/// Converts to the declared type where that loses nothing by intent: NumPy's float64 becomes float32.
core::Result<core::Tensor> as_declared(core::Tensor tensor, const model::ValueInfo& info, std::size_t batch,
                                       NonFinite non_finite) {
  if (tensor.type() != info.type) {
    if (tensor.is_real() != core::is_real(info.type)) {
      return invalid(fmt::format("input \"{}\", batch {}: data of type {}, declared {}", info.name, batch,
                                 core::dtype_name(tensor.type()), core::dtype_name(info.type)),
                     info.name);
    }
    tensor = std::move(tensor).relabeled(info.type);
  }
  if (!shape_fits(tensor.shape(), info)) {
    return invalid(fmt::format("input \"{}\", batch {}: data of shape {}, declared {}", info.name, batch,
                               core::shape_text(tensor.shape()), declared_text(info)),
                   info.name);
  }
  if (tensor.is_real() && non_finite == NonFinite::refused) {
    const auto values = tensor.reals();
    const auto bad = std::find_if(values.begin(), values.end(), [](double v) { return !std::isfinite(v); });
    if (bad != values.end()) {
      return invalid(fmt::format("input \"{}\", batch {}: element {} is {}; calibration data and inputs must be finite",
                                 info.name, batch, bad - values.begin(), core::exact_text64(*bad)),
                     info.name);
    }
  }
  return core::rounded_to_type(std::move(tensor));
}

/// The names that there are, nearest to `wanted` first.
std::string names_text(const std::string& wanted, const core::TensorMap& batch) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : batch) names.push_back("\"" + name + "\"");
  if (names.empty()) return "there are none";
  return core::join(core::nearest("\"" + wanted + "\"", names), ", ");
}

core::Result<core::TensorMap> bind(core::TensorMap batch, const model::Model& model, std::size_t index,
                                   NonFinite non_finite) {
  core::TensorMap bound;
  for (const model::ValueInfo& info : model.graph.inputs) {
    const auto found = batch.find(info.name);
    if (found == batch.end()) {
      return invalid(fmt::format("batch {} has no data for input \"{}\"; the data are named: {}", index, info.name,
                                 names_text(info.name, batch)),
                     info.name);
    }
    core::Result<core::Tensor> tensor = as_declared(std::move(found->second), info, index, non_finite);
    if (!tensor) {
      return tensor.error();
    }
    bound.emplace(info.name, *std::move(tensor));
    batch.erase(found);
  }
  if (!batch.empty()) {
    std::vector<std::string> names;
    for (const model::ValueInfo& info : model.graph.inputs) {
      names.push_back(info.name);
    }
    const std::string& stray = batch.begin()->first;
    return invalid(fmt::format("batch {} has data for \"{}\", which is no input; the inputs are: {}", index, stray,
                               core::join(core::nearest(stray, names), ", ")),
                   stray);
  }
  return bound;
}

/// Element `index` along the first axis.
core::Tensor slice(const core::Tensor& stacked, std::int64_t index) {
  core::Shape shape(stacked.shape().begin() + 1, stacked.shape().end());
  const auto count = static_cast<std::size_t>(core::element_count(shape));
  const std::size_t begin = count * static_cast<std::size_t>(index);
  if (stacked.is_real()) {
    const auto values = stacked.reals().subspan(begin, count);
    return {stacked.type(), std::move(shape), std::vector<double>(values.begin(), values.end())};
  }
  const auto values = stacked.integers().subspan(begin, count);
  return {stacked.type(), std::move(shape), std::vector<std::int64_t>(values.begin(), values.end())};
}

/// Whether `shape` is what the model declares, or lacks its first axis.
bool lacks_batch_axis(const core::Shape& shape, const model::ValueInfo& info) {
  if (!info.shape) return false;
  core::Shape with = shape;
  with.insert(with.begin(), info.shape->empty() ? 1 : info.shape->front().value.value_or(1));
  return shape_fits(shape, info) || shape_fits(with, info);
}

/// What makes batches of `shape` where its first axis counts samples: the model takes a fixed number of them at a time.
std::string stacked_samples(const core::Shape& shape, const model::ValueInfo& info) {
  if (!info.shape || info.shape->empty() || !info.shape->front().value) return "";
  const std::int64_t at_a_time = *info.shape->front().value;
  core::Shape batch = shape;
  batch.front() = at_a_time;
  if (!shape_fits(batch, info) || at_a_time < 1 || shape.front() % at_a_time != 0) return "";
  core::Shape batches = batch;
  batches.insert(batches.begin(), shape.front() / at_a_time);
  std::string extents = core::shape_text(batches);
  extents = extents.substr(1, extents.size() - 2);
  return fmt::format(
      ". array.reshape({}) makes {} of these {}; or declare the model's first axis free and give array[None], one "
      "batch "
      "of {}",
      extents, core::counted(static_cast<std::uint64_t>(batches.front()), "batch", "batches"),
      core::counted(static_cast<std::uint64_t>(shape.front()), "sample"), shape.front());
}

/// An array whose first axis does not count batches, told apart from one that is wrong otherwise.
core::Status check_first_axis(const core::TensorMap& arrays, const model::Model& model, const fs::path& path) {
  for (const model::ValueInfo& info : model.graph.inputs) {
    const auto found = arrays.find(info.name);
    if (found == arrays.end() || found->second.rank() == 0) continue;
    const core::Shape& shape = found->second.shape();
    const core::Shape batch(shape.begin() + 1, shape.end());
    if (shape_fits(batch, info)) continue;
    const std::string is = fmt::format(
        "{}: array \"{}\" has shape {}. Its first axis counts the batches, so that these "
        "are {} of shape {}; the model declares {} for one batch",
        path.string(), info.name, core::shape_text(shape),
        core::counted(static_cast<std::uint64_t>(shape.front()), "batch", "batches"), core::shape_text(batch),
        declared_text(info));
    const std::string next = !lacks_batch_axis(shape, info) ? stacked_samples(shape, info)
                             : shape_fits(shape, info)
                                 ? ". numpy.stack([batch, …]) makes that axis of a list of batches, array[None] of one"
                                 : ". numpy.stack([sample[None], …]) makes both axes of a list of samples, "
                                   "array[None, None] of one";
    return invalid(is + next, info.name);
  }
  return core::success();
}

core::Result<std::vector<core::TensorMap>> unstack(const core::TensorMap& arrays, const fs::path& path) {
  constexpr std::int64_t kMostBatches = 65536;  // batches without elements take no room in a file
  std::optional<std::int64_t> batches;
  for (const auto& [name, array] : arrays) {
    if (array.rank() == 0) {
      return invalid(fmt::format("{}: array \"{}\" has no first axis to count batches", path.string(), name), name);
    }
    if (batches && *batches != array.shape().front()) {
      return invalid(
          fmt::format("{}: array \"{}\" holds {}, others {}", path.string(), name,
                      core::counted(static_cast<std::uint64_t>(array.shape().front()), "batch", "batches"), *batches),
          name);
    }
    batches = array.shape().front();
    if (*batches > kMostBatches) {
      return invalid(
          fmt::format("{}: array \"{}\" has shape {}. Its first axis counts the batches, of which {} at most "
                      "can be used",
                      path.string(), name, core::shape_text(array.shape()), kMostBatches),
          name);
    }
  }
  std::vector<core::TensorMap> result(static_cast<std::size_t>(batches.value_or(0)));
  for (std::size_t index = 0; index < result.size(); ++index) {
    for (const auto& [name, array] : arrays) {
      result[index].emplace(name, slice(array, static_cast<std::int64_t>(index)));
    }
  }
  return result;
}

std::string input_names(const model::Model& model) {
  std::vector<std::string> names;
  for (const model::ValueInfo& info : model.graph.inputs) names.push_back("\"" + info.name + "\"");
  return core::join(names, ", ");
}

core::Result<std::vector<core::TensorMap>> load_folder(const fs::path& path) {
  std::vector<fs::path> folders;
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, code)) {
    if (entry.is_directory()) {
      folders.push_back(entry.path());
    }
  }
  std::sort(folders.begin(), folders.end());
  if (folders.empty()) {
    folders.push_back(path);
  }
  std::vector<core::TensorMap> batches;
  for (const fs::path& folder : folders) {
    core::Result<core::TensorMap> batch = model::load_tensors(folder, "input");
    if (!batch) {
      return batch.error();
    }
    batches.push_back(*std::move(batch));
  }
  return batches;
}

core::Result<std::vector<core::TensorMap>> load_arrays(const fs::path& path, const model::Model& model) {
  core::TensorMap arrays;
  if (path.extension() == ".npz") {
    core::Result<core::TensorMap> loaded = model::load_npz(path);
    if (!loaded) {
      return loaded.error();
    }
    arrays = *std::move(loaded);
  } else {
    if (model.graph.inputs.size() != 1) {
      return invalid(
          fmt::format("{}: an .npy serves one input, and the model has {}; give an .npz with a key per input",
                      path.string(), model.graph.inputs.size()));
    }
    core::Result<core::Tensor> loaded = model::load_npy(path);
    if (!loaded) {
      return loaded.error();
    }
    arrays.emplace(model.graph.inputs.front().name, *std::move(loaded));
  }
  if (arrays.empty()) {
    return invalid(
        fmt::format("{} holds no array; save one for each input, by its name: {}", path.string(), input_names(model)));
  }
  if (core::Status status = check_first_axis(arrays, model, path); !status) {
    return status.error();
  }
  return unstack(arrays, path);
}

}  // namespace

core::Result<core::TensorMap> bind_user_data(core::TensorMap batch, const model::Model& model, std::size_t index) {
  return bind(std::move(batch), model, index, NonFinite::refused);
}

core::Result<std::vector<core::TensorMap>> load_user_data(const fs::path& path, const model::Model& model,
                                                          NonFinite non_finite) {
  std::error_code code;
  core::Result<std::vector<core::TensorMap>> batches = std::vector<core::TensorMap>();
  if (!fs::exists(path, code)) {
    return invalid(fmt::format("there is no file or folder \"{}\"", path.string()));
  }
  if (fs::is_directory(path, code)) {
    batches = load_folder(path);
  } else if (path.extension() == ".npz" || path.extension() == ".npy") {
    batches = load_arrays(path, model);
  } else {
    return invalid(fmt::format("\"{}\" is neither a folder of TensorProto files nor an .npz or .npy", path.string()));
  }
  if (!batches) {
    return batches;
  }
  if (std::ranges::all_of(*batches, &core::TensorMap::empty)) {
    return invalid(
        fmt::format("\"{}\" holds no data. A folder has one folder for each batch, 0000, 0001 and so on, with "
                    "input_0.pb, input_1.pb and so on in it; the model's inputs are: {}",
                    path.string(), input_names(model)));
  }
  for (std::size_t index = 0; index < batches->size(); ++index) {
    core::Result<core::TensorMap> bound = bind(std::move((*batches)[index]), model, index, non_finite);
    if (!bound) {
      return bound.error().within(path.string());
    }
    (*batches)[index] = *std::move(bound);
  }
  return batches;
}

}  // namespace assay::data
