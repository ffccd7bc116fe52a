#pragma once

#include <filesystem>

#include "harness/core/result.hpp"

namespace assay::core {

/// A folder that is filled beside its place and put there whole: who fails half-way leaves nothing behind.
class Staging {
 public:
  /// Errors   usage, where `target` exists and is not an empty folder; io.
  [[nodiscard]] static core::Result<Staging> create(const std::filesystem::path& target);
  Staging(Staging&& other) noexcept;
  Staging& operator=(Staging&&) = delete;
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging();

  /// To be filled.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Puts the folder into its place.
  [[nodiscard]] core::Status commit();

 private:
  Staging(std::filesystem::path path, std::filesystem::path target);
  std::filesystem::path path_, target_;
};

}  // namespace assay::core
