#include <fmt/format.h>

#include <algorithm>

#include "reference/arguments.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

/// One n-gram of the pool, and the element of the result that counts it.
struct Gram {
  std::vector<std::int64_t> tokens;
  std::int64_t output = 0;
  double weight = 1.0;
};

/// The pool holds all 1-grams, then all 2-grams, …; ngram_counts says where each size begins.
Result<std::vector<Gram>> pool_of(const OpCall& call) {
  const Node& node = call.node;
  if (node.has("pool_strings")) return op_unsupported("pool_strings; the reference handles no strings");
  const std::vector<std::int64_t> pool = node.ints_or("pool_int64s");
  const std::vector<std::int64_t> begins = node.ints_or("ngram_counts");
  const std::vector<std::int64_t> outputs = node.ints_or("ngram_indexes");
  const std::vector<double> weights = node.floats_or("weights");
  std::vector<Gram> grams;
  for (std::size_t n = 1; n <= begins.size(); ++n) {
    const std::int64_t begin = begins[n - 1];
    const std::int64_t end = n < begins.size() ? begins[n] : static_cast<std::int64_t>(pool.size());
    const auto size = static_cast<std::int64_t>(n);
    if (begin < 0 || end < begin || end > static_cast<std::int64_t>(pool.size()) || (end - begin) % size != 0) {
      return op_error(
          fmt::format("ngram_counts {} doesn't divide a pool of {}", core::shape_text(begins), pool.size()));
    }
    for (std::int64_t first = begin; first < end; first += size) {
      grams.push_back({.tokens = {pool.begin() + first, pool.begin() + first + size}});
    }
  }
  if (outputs.size() != grams.size() || (!weights.empty() && weights.size() != grams.size())) {
    return op_error(
        fmt::format("{} n-grams, {} ngram_indexes, {} weights", grams.size(), outputs.size(), weights.size()));
  }
  for (std::size_t i = 0; i < grams.size(); ++i) {
    if (outputs[i] < 0 || outputs[i] > kElementLimit)
      return op_error(fmt::format("ngram_indexes holds {}", outputs[i]));
    grams[i].output = outputs[i];
    if (!weights.empty()) grams[i].weight = weights[i];
  }
  return grams;
}

/// How often `tokens` occurs in `line` with `skip` elements left out between each two. Single tokens can't be spread.
std::int64_t occurrences(const std::vector<std::int64_t>& tokens, std::span<const std::int64_t> line,
                         std::int64_t skip) {
  const auto length = static_cast<std::int64_t>(line.size());
  const auto last = static_cast<std::int64_t>(tokens.size()) - 1;
  if (last > 0 && skip >= length) return 0;
  std::int64_t count = 0;
  for (std::int64_t first = 0; first + last * (skip + 1) < length; ++first) {
    bool equal = true;
    for (std::int64_t i = 0; equal && i <= last; ++i) equal = line[at(first + i * (skip + 1))] == tokens[at(i)];
    count += equal ? 1 : 0;
  }
  return count;
}

// ONNX TfIdfVectorizer-9 over integers: for each line of x, how often each n-gram of the pool (of min_gram_length to
// max_gram_length tokens) occurs, with 0 to max_skip_count elements skipped between its tokens. Mode TF: the counts;
// IDF: the weights of those that occur; TFIDF: counts times weights.
Result<std::vector<Tensor>> run_tf_idf_vectorizer(const OpCall& call) {
  if (const auto integer = require_integer(call, 0); !integer) return integer.error();
  const Tensor& x = call.in(0);
  const auto grams = pool_of(call);
  if (!grams) return grams.error();
  const std::string mode = call.node.string_or("mode", "");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") {
    return op_error(fmt::format("mode is \"{}\", expected TF, IDF or TFIDF", mode));
  }
  if (x.rank() < 1 || x.rank() > 2 || grams->empty()) {
    return op_error(fmt::format("{} and {} n-grams; expected one line or several", tensor_text(x), grams->size()));
  }
  const auto least = static_cast<std::size_t>(std::max<std::int64_t>(call.node.int_or("min_gram_length", 1), 1));
  const auto most = static_cast<std::size_t>(std::max<std::int64_t>(call.node.int_or("max_gram_length", 1), 0));
  const std::int64_t width = x.shape().back();
  const std::int64_t most_skips = std::min(call.node.int_or("max_skip_count", 0), width);
  Shape shape = x.shape();
  shape.back() = std::ranges::max(*grams, {}, &Gram::output).output + 1;
  const auto count = checked_count(shape);
  if (!count) return count.error();
  std::vector<double> y(at(*count), 0.0);
  for (std::int64_t line = 0; line * shape.back() < *count; ++line) {
    const auto tokens = x.integers().subspan(at(line * width), at(width));
    for (const Gram& gram : *grams) {
      if (gram.tokens.size() < least || gram.tokens.size() > most) continue;
      std::int64_t found = 0;
      for (std::int64_t skip = 0; skip <= (gram.tokens.size() == 1 ? 0 : most_skips); ++skip) {
        found += occurrences(gram.tokens, tokens, skip);
      }
      const double term = mode == "IDF" ? (found > 0 ? 1.0 : 0.0) : static_cast<double>(found);
      y[at(line * shape.back() + gram.output)] += mode == "TF" ? term : term * gram.weight;
    }
  }
  return single_output(Tensor(DType::float32, shape, std::move(y)));
}

Result<Facts> infer_tf_idf_vectorizer(const ShapeCall& call) {
  const std::vector<std::int64_t> outputs = call.node.ints_or("ngram_indexes");
  const TensorFacts& x = call.in(0);
  if (!x.shape || outputs.empty()) return one(DType::float32, std::nullopt);
  if (x.shape->empty() || x.shape->size() > 2) return op_error(facts_text(x) + ", expected one line or several");
  Dims shape = *x.shape;
  shape.back() = known(std::ranges::max(outputs) + 1);
  return one(DType::float32, std::move(shape));
}

}  // namespace

const OpDef& op_tf_idf_vectorizer() {
  static const OpDef def{
      .name = "TfIdfVectorizer", .first_opset = 9, .run = &run_tf_idf_vectorizer, .infer = &infer_tf_idf_vectorizer};
  return def;
}

}  // namespace assay::reference
