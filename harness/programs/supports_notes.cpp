#include "harness/programs/supports_notes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/core/text.hpp"

namespace assay::programs {
namespace {

using Words = std::vector<std::string>;

const Words kActivations{"int8", "uint8", "int16", "uint16", "float8e4m3fn", "float8e5m2", "none"};
const Words kMethods{"minmax", "entropy", "percentile", "mse"};
const Words kFormats = core::all_words<converters::Format>();
const Words kModels{"float", "qdq"};
const Words kReports{"tensors", "activations", "inputs", "precision", "cache"};

void note_strangers(std::string_view key, const Words& said, const Words& known, Words& notes) {
  for (const std::string& word : said) {
    if (std::ranges::find(known, word) != known.end()) continue;
    notes.push_back(
        fmt::format("its `supports` says \"{}\" under \"{}\", which is no word of protocol 1 and is passed over; "
                    "the words are: {}",
                    word, key, core::join(core::nearest(word, known, known.size()), ", ")));
  }
}

}  // namespace

std::vector<std::string> supports_notes(const converters::Description& description) {
  const converters::Supports& supports = description.supports;
  Words notes;
  note_strangers("activation", supports.activation.value_or(Words()), kActivations, notes);
  note_strangers("method", supports.method.value_or(Words()), kMethods, notes);
  note_strangers("format", supports.format, kFormats, notes);
  note_strangers("models", supports.models.value_or(Words()), kModels, notes);
  note_strangers("reports", supports.reports, kReports, notes);
  return notes;
}

}  // namespace assay::programs
