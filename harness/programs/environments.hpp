#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace assay::programs {

/// Where virtual environments live: ASSAY_VENVS when set, else .assay/venvs below the source tree.
[[nodiscard]] std::filesystem::path environments_folder();

/// A folder that converters/adapters/install.py completed: a converter's environment, or a layer of packages that
/// several of them see.
struct Environment {
  std::string name;                 ///< "onnxruntime-1.23.2", "layer-torch-2.14.1"
  std::vector<std::string> layers;  ///< those that it sees, by name
  [[nodiscard]] bool is_layer() const { return name.starts_with("layer-"); }
};

/// The complete ones, by name.
[[nodiscard]] std::vector<Environment> list_environments();

/// What a converter made in its home when its environment was installed, as caches of what it compiled; empty where it
/// made nothing.
[[nodiscard]] std::filesystem::path home_of_environment(const std::string& name);

/// Bytes of the files in it, those that it shares with nobody else.
[[nodiscard]] std::uintmax_t size_of(const Environment& environment);

/// Deletes an environment. Errors   the system's message; "" when it is gone.
[[nodiscard]] std::string remove_environment(const Environment& environment);

/// Layers that no environment sees.
[[nodiscard]] std::vector<Environment> unused_layers();

}  // namespace assay::programs
