#pragma once

#include <string>
#include <string_view>

namespace assay::report {

/// A number for people: at most four significant digits; "∞", "-∞" and "not a number" where it isn't finite.
[[nodiscard]] std::string figure(double value);

/// With so many digits behind the point as long as there are four in all, else as figure().
[[nodiscard]] std::string fixed(double value, int decimals);
/// "38.1 dB", "∞ dB".
[[nodiscard]] std::string decibels(double value);

/// `text` with its long decimal numbers as figure() shows them. Two that differ and stand in one line keep as many
/// digits as tell them apart; whole numbers of up to nine digits stay.
[[nodiscard]] std::string with_short_figures(std::string_view text);

}  // namespace assay::report
