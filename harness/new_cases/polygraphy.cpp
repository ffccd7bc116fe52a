#include "harness/new_cases/polygraphy.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/core/files.hpp"
#include "harness/core/json.hpp"
#include "harness/model/numpy_io.hpp"

namespace assay::new_cases {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

core::Error invalid(const fs::path& file, std::string_view what) {
  return {core::ErrorKind::invalid_data, fmt::format("{}: {}", file.string(), what), {}, {}, {}};
}

/// Value of one base64 digit; -1 for any other character.
int digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

core::Result<core::Tensor> array_of(const json& value) {
  const core::Error wrong{core::ErrorKind::invalid_data, "is no array: an object with \"array\" in base64", {}, {}, {}};
  if (!value.is_object() || !value.contains("array") || !value["array"].is_string()) return wrong;
  const std::optional<std::string> bytes = base64_decoded(value["array"].get_ref<const std::string&>());
  if (!bytes) return wrong;
  const core::Result<core::TemporaryFolder> folder = core::TemporaryFolder::create();
  if (!folder) return folder.error();
  const fs::path file = folder->path() / "array.npy";
  if (core::Status status = core::write_file(file, *bytes); !status) return status.error();
  return model::load_npy(file);
}

}  // namespace

std::optional<std::string> base64_decoded(std::string_view text) {
  constexpr int kBitsOfDigit = 6, kBitsOfByte = 8;
  std::string bytes;
  unsigned bits = 0;
  int held = 0;
  std::size_t end = text.size();
  while (end > 0 && text[end - 1] == '=') --end;
  for (const char c : text.substr(0, end)) {
    if (digit(c) < 0) return std::nullopt;
    bits = (bits << static_cast<unsigned>(kBitsOfDigit)) | static_cast<unsigned>(digit(c));
    held += kBitsOfDigit;
    if (held < kBitsOfByte) continue;
    held -= kBitsOfByte;
    bytes += static_cast<char>((bits >> static_cast<unsigned>(held)) & 0xFFU);
  }
  return text.size() % 4 == 0 && text.size() - end <= 2 ? std::optional(bytes) : std::nullopt;
}

core::Result<std::vector<core::TensorMap>> load_polygraphy_inputs(const fs::path& file) {
  const core::Result<std::string> text = core::read_file(file);
  if (!text) return text.error();
  const auto batches = core::json_or_discarded<json>(*text);
  if (!batches.is_array() || batches.empty()) {
    return invalid(file, "is not what Polygraphy saves: a JSON list with one object a batch");
  }
  std::vector<core::TensorMap> result;
  for (const json& batch : batches) {
    if (!batch.is_object() || batch.empty()) {
      return invalid(file, fmt::format("batch {} is no object of input names", result.size()));
    }
    core::TensorMap inputs;
    for (const auto& [name, value] : batch.items()) {
      core::Result<core::Tensor> tensor = array_of(value);
      if (!tensor) {
        return invalid(file, fmt::format("batch {}, \"{}\": {}", result.size(), name, tensor.error().message));
      }
      inputs.emplace(name, *std::move(tensor));
    }
    result.push_back(std::move(inputs));
  }
  return result;
}

}  // namespace assay::new_cases
