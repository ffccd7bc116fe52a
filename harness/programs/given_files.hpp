#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "converters/converter.hpp"

namespace assay::programs {

/// The files that a case's requests hand to converters: model, calibration folders, input folders. Others are given the
/// same files after this one, so whoever writes into them would change what they are judged by. Each is remembered as
/// it is handed over first, and looked at after every request; a change is a broken protocol, the outcome `crash` of
/// the request during which it came. Converters of this very program (hands_over()) are not looked after.
class GivenFiles {
 public:
  [[nodiscard]] converters::ConvertReply convert(converters::Converter& converter,
                                                 const converters::ConvertRequest& request);
  [[nodiscard]] converters::ExecuteReply execute(converters::Converter& converter,
                                                 const converters::ExecuteRequest& request);

  /// Whether somebody wrote into one since forget(): none of them is to be given again.
  [[nodiscard]] bool spoiled() const { return spoiled_; }
  /// All files are to be made anew.
  void forget();

 private:
  /// By path below what was handed over: of a file a hash over its bytes, of anything else its kind.
  using Tree = std::map<std::string, std::uint64_t>;
  [[nodiscard]] static Tree look_at(const std::filesystem::path& given);
  void remember(const std::filesystem::path& given);
  /// What differs from what was handed over, "" where nothing does.
  [[nodiscard]] std::string change_of(const std::filesystem::path& given);
  template <typename Reply>
  void check(const std::map<std::string, std::filesystem::path>& given, Reply& reply);

  std::map<std::filesystem::path, Tree> known_;
  bool spoiled_ = false;
};

}  // namespace assay::programs
