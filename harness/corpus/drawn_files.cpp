#include <array>
#include <string>
#include <string_view>

#include "harness/corpus/drawn.hpp"

namespace assay::corpus {
namespace {

using core::Rng;

std::string draw_word(Rng& rng) {
  static constexpr std::string_view kConsonants = "bcdfghklmnprstvw";
  static constexpr std::string_view kVowels = "aeiou";
  const auto letter = [&](std::string_view of) {
    return of[static_cast<std::size_t>(rng.integer(0, static_cast<std::int64_t>(of.size()) - 1))];
  };
  std::string word;
  for (std::int64_t syllables = rng.integer(1, 4); syllables > 0; --syllables) {
    word += letter(kConsonants);
    word += letter(kVowels);
    if (rng.uniform() < 0.3) word += letter(kConsonants);
  }
  return word;
}

std::string draw_prose(std::size_t size, Rng& rng) {
  std::string text;
  while (text.size() < size) {
    std::string sentence = draw_word(rng);
    sentence[0] = static_cast<char>(sentence[0] - 'a' + 'A');
    for (std::int64_t words = rng.integer(3, 14); words > 0; --words) {
      sentence += (rng.uniform() < 0.1 ? ", " : " ") + draw_word(rng);
    }
    text += sentence + (rng.uniform() < 0.2 ? ".\n\n" : ".\n");
  }
  return text;
}

std::string draw_program(std::size_t size, Rng& rng) {
  std::string text = "#include <" + draw_word(rng) + ".h>\n\n";
  while (text.size() < size) {
    text += "static int " + draw_word(rng) + "_" + draw_word(rng) + "(int " + draw_word(rng) + ") {\n";
    for (std::int64_t lines = rng.integer(2, 8); lines > 0; --lines) {
      text += rng.uniform() < 0.3
                  ? "  if (" + draw_word(rng) + " > " + std::to_string(rng.integer(0, 999)) + ") {\n    " +
                        draw_word(rng) + "();\n  }\n"
                  : "  " + draw_word(rng) + " = " + draw_word(rng) + "[" + std::to_string(rng.integer(0, 99)) + "];\n";
    }
    text += "  return " + draw_word(rng) + ";\n}\n\n";
  }
  return text;
}

std::string draw_table(std::size_t size, Rng& rng) {
  std::string text;
  const std::int64_t columns = rng.integer(2, 6);
  for (std::int64_t column = 0; column < columns; ++column) text += (column == 0 ? "" : ",") + draw_word(rng);
  while (text.size() < size) {
    text += "\n" + draw_word(rng);
    for (std::int64_t column = 1; column < columns; ++column) text += "," + std::to_string(rng.integer(-500, 9999));
  }
  return text + "\n";
}

/// A magic number, then records of a tag, a length and small numbers, most of whose bytes are zero.
std::string draw_binary(std::size_t size, Rng& rng) {
  std::string bytes = "\x89" + draw_word(rng).substr(0, 3) + "\r\n\x1a\n";
  while (bytes.size() < size) {
    bytes += draw_word(rng).substr(0, 4);
    for (std::int64_t fields = rng.integer(2, 12); fields > 0; --fields) {
      const std::int64_t number = rng.integer(0, 70000);
      for (const int shift : {0, 8, 16, 24}) bytes += static_cast<char>(number >> shift & 255);
    }
  }
  return bytes;
}

}  // namespace

std::vector<double> draw_files(const core::Shape& shape, Rng& rng) {
  static constexpr std::array kFormats{&draw_prose, &draw_program, &draw_table, &draw_binary};
  static constexpr double kNoByte = 256;
  const auto length = static_cast<std::size_t>(shape.back());
  std::vector<double> out(static_cast<std::size_t>(core::element_count(shape)), kNoByte);
  for (std::size_t row = 0; row < out.size(); row += length) {
    const auto size = static_cast<std::size_t>(rng.integer(60, 3 * shape.back()));
    const std::string file = kFormats[static_cast<std::size_t>(rng.integer(0, 3))](size, rng).substr(0, length);
    for (std::size_t i = 0; i < file.size(); ++i) out[row + i] = static_cast<unsigned char>(file[i]);
  }
  return out;
}

}  // namespace assay::corpus
