#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/rng.hpp"
#include "harness/core/tensor.hpp"
#include "harness/corpus/case.hpp"
#include "harness/corpus/tensor_spec.hpp"
#include "harness/model/graph.hpp"

namespace assay::fuzz {

/// A real tensor that a node may read.
struct Value {
  std::string name;
  core::Shape shape;
  std::string made_by;    ///< operator type; "" for a graph input
  bool positive = false;  ///< a graph input whose calibrated range begins above zero
};

/// What a weight or another constant operand is drawn like.
enum class Constant {
  weight,    ///< around zero by its fan-in, now and then with channels of unlike size, a channel of zeros, an outlier
  faint,     ///< a weight so small that the bias beside it is beyond 32 bits of their product's steps
  bias,      ///< around zero, now and then large
  operand,   ///< of a sum or product: any sign, any size
  divisor,   ///< away from zero
  positive,  ///< between a half and one and a half: variances, scales of normalizations
};

/// A graph that grows node by node, with all that is drawn for it. Everything comes from one stream of random numbers:
/// the same seed, the same draft.
class Draft {
 public:
  explicit Draft(core::Rng rng);
  /// `other` with another stream of random numbers from here on.
  Draft(Draft other, core::Rng rng) : Draft(std::move(other)) { rng_ = rng; }

  // Draws. One at a time in an expression: the order of a call's arguments is the compiler's.
  [[nodiscard]] bool chance(double probability) { return rng_.uniform() < probability; }
  [[nodiscard]] std::int64_t integer(std::int64_t low, std::int64_t high) { return rng_.integer(low, high); }
  [[nodiscard]] double real(double low, double high) { return rng_.uniform(low, high); }
  template <typename T>
  [[nodiscard]] T choose(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(integer(0, static_cast<std::int64_t>(from.size()) - 1))];
  }
  template <typename T>
  [[nodiscard]] T choose(std::initializer_list<T> from) {
    return choose(std::vector<T>(from));
  }
  /// A float32 number with few digits.
  [[nodiscard]] double number(double low, double high);
  /// `axis` of `rank`, counted from the end now and then.
  [[nodiscard]] std::int64_t written_axis(std::int64_t axis, std::int64_t rank);
  /// Some of the axes `first` … rank - 1, at least one and not all of them unless there is but one, in order.
  [[nodiscard]] std::vector<std::int64_t> some_axes(std::int64_t first, std::int64_t rank);

  [[nodiscard]] std::int64_t opset() const { return opset_; }
  [[nodiscard]] const model::Graph& graph() const { return model_.graph; }
  [[nodiscard]] const std::vector<Value>& values() const { return values_; }

  /// What the next node reads: mostly what the last one made, another value of such a rank now and then, or a new graph
  /// input. A value that was pinned for it, in any case.
  [[nodiscard]] Value pick(std::int64_t least_rank, std::int64_t most_rank);
  /// The next pick is `value`; where its rank doesn't do, settle() says so.
  void pin(const Value& value) { pinned_ = value; }
  /// The same among the values that `op` made, where there are any.
  [[nodiscard]] Value pick_behind(const std::string& op, std::int64_t least_rank, std::int64_t most_rank);
  /// Another value of shape `shape` than `but`; no name where there is none.
  [[nodiscard]] Value like(const Value& but);
  /// A graph input whose data are drawn too. `positive`: all of it above zero.
  Value input(const core::Shape& shape, bool positive = false);
  /// A graph input of indices from 0 to `most`.
  std::string index_input(const core::Shape& shape, std::int64_t most);
  /// The shape of a graph input: extents that differ from one another.
  [[nodiscard]] core::Shape shape_of_rank(std::int64_t rank);

  /// Initializers; a weight or bias may be one that is there already. `axis` is that of the output channels.
  std::string constant(Constant kind, const core::Shape& shape, std::int64_t axis = 0);
  std::string scalar(double value);
  std::string integers(const std::vector<std::int64_t>& values);
  std::string integer_tensor(const core::Shape& shape, std::vector<std::int64_t> values);
  std::string reals(const std::vector<double>& values);
  std::string empty_reals() { return reals({}); }

  /// Appends a node with `outputs` outputs.
  void node(const std::string& op, std::vector<std::string> inputs, std::map<std::string, model::Attribute> attributes,
            std::size_t outputs = 1);

  /// `value` becomes an output, whoever reads it.
  void show(const Value& value) { shown_.insert(value.name); }
  /// Operators that the options had better ask for, in INT8 or in float: what a graph is about may show only so.
  void wish(const std::string& op, const std::string& precision) { wishes_[op] = precision; }
  [[nodiscard]] const std::map<std::string, std::string>& wishes() const { return wishes_; }

  /// Gives the outputs of the nodes that are new their shapes, by the operators' rules; those of real type are values.
  /// Errors   what the rules say; invalid_data for a tensor that is empty or larger than graphs of this size need.
  [[nodiscard]] core::Status settle();
  /// What nobody reads becomes an output, and another tensor now and then. Now and then the tensors get names as
  /// exporters make them, or such as a converter makes itself, and the batch becomes a symbol.
  void finish();

  [[nodiscard]] const model::Model& model() const { return model_; }
  [[nodiscard]] const std::map<std::string, corpus::InputSpec>& specs() const { return specs_; }
  /// A symbol stands where inputs begin with the batch.
  [[nodiscard]] bool batch_is_free() const { return batch_is_free_; }
  /// Data of calibration and inputs are drawn from it.
  [[nodiscard]] std::uint64_t data_seed() const { return data_seed_; }

 private:
  [[nodiscard]] std::string fresh(const char* stem);
  [[nodiscard]] Value choose_among(const std::vector<const Value*>& fitting, std::int64_t least_rank,
                                   std::int64_t most_rank);
  void draw_range(corpus::InputSpec& spec, bool positive);
  void draw_names();
  void free_batch();
  std::string keep(const std::string& name, core::Tensor tensor);

  core::Rng rng_;
  std::int64_t opset_;
  std::uint64_t data_seed_;
  int counter_ = 0;
  std::size_t settled_ = 0;  ///< nodes whose outputs are values
  model::Model model_;
  std::vector<Value> values_;
  std::map<std::string, corpus::InputSpec> specs_;
  bool batch_is_free_ = false;
  bool misfit_ = false;  ///< a pinned value is read whose rank doesn't do
  std::optional<Value> pinned_;
  std::set<std::string> shown_;
  std::map<std::string, std::string> wishes_;
};

}  // namespace assay::fuzz
