#include "harness/run/lane_messages.hpp"

#include <cstring>
#include <type_traits>

namespace assay::run {
namespace {

// Each structure's fields once, for both directions.

template <typename Bytes>
void fields(Bytes& bytes, results::JobKey& key) {
  bytes(key.case_name, key.options, key.converter, key.version, key.hash);
}
template <typename Bytes>
void fields(Bytes& bytes, core::QuantParams& params) {
  bytes(params.scale, params.zero_point, params.type, params.axis, params.block, params.scale_type, params.scale_step);
}
template <typename Bytes>
void fields(Bytes& bytes, results::MetricRow& row) {
  bytes(row.tensor, row.data_set, row.name, row.value);
}
template <typename Bytes>
void fields(Bytes& bytes, results::ParameterRow& row) {
  bytes(row.tensor, row.params);
}
template <typename Bytes>
void fields(Bytes& bytes, results::PrecisionRow& row) {
  bytes(row.node, row.op, row.got);
}
template <typename Bytes>
void fields(Bytes& bytes, results::AttemptRow& row) {
  bytes(row.request, row.number, row.outcome, row.reason, row.seconds);
}
template <typename Bytes>
void fields(Bytes& bytes, results::ExpectationRow& row) {
  bytes(row.case_pattern, row.options, row.converter, row.versions, row.stage, row.facet, row.reason, row.url,
        row.until, row.margin);
}
template <typename Bytes>
void fields(Bytes& bytes, results::FindingRow& row) {
  bytes(row.stage, row.facet, row.node, row.op, row.tensor, row.data_set, row.layer, row.message, row.margin,
        row.amber);
}
template <typename Bytes>
void fields(Bytes& bytes, results::CoverageRow& row) {
  bytes(row.op, row.nodes, row.judged);
}
template <typename Bytes>
void fields(Bytes& bytes, results::UnjudgedRow& row) {
  bytes(row.node, row.op, row.reason);
}
template <typename Bytes>
void fields(Bytes& bytes, results::ResultRow& row) {
  bytes(row.key, row.family, row.case_hash, row.verdict, row.gate, row.stage, row.facet, row.node, row.op, row.reason,
        row.signature, row.style, row.layers, row.artifact_kind, row.judged_as, row.artifact_hash, row.artifact_bytes,
        row.margin, row.sqnr_db, row.judged_outputs, row.seconds, row.started_at, row.findings, row.metrics,
        row.parameters, row.precision, row.attempts, row.coverage, row.unjudged, row.expectation, row.detail);
}
template <typename Bytes>
void fields(Bytes& bytes, LaneDescribed& described) {
  bytes(described.line, described.broken, described.broken_as, described.hash);
}
template <typename Bytes>
void fields(Bytes& bytes, LaneOrder& order) {
  bytes(order.item, order.places);
}
template <typename Bytes>
void fields(Bytes& bytes, LaneNews& news) {
  bytes(news.described, news.item, news.place, news.item_done, news.row, news.met_expectations);
}

template <typename T>
constexpr bool kPlain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

class Writer {
 public:
  template <typename... Fields>
  void operator()(Fields&... all) {
    (put(all), ...);
  }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  template <typename T>
  void put(T& value) {
    if constexpr (kPlain<T>) {
      bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    } else {
      fields(*this, value);
    }
  }
  void put(std::string& text) {
    put_size(text.size());
    bytes_ += text;
  }
  template <typename T>
  void put(std::vector<T>& values) {
    put_size(values.size());
    for (T& value : values) put(value);
  }
  template <typename T>
  void put(std::optional<T>& value) {
    bool there = value.has_value();
    put(there);
    if (there) put(*value);
  }
  void put_size(std::size_t size) { put(size); }

  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  template <typename... Fields>
  void operator()(Fields&... all) {
    (take(all), ...);
  }
  [[nodiscard]] bool whole() const { return sound_ && bytes_.empty(); }

 private:
  template <typename T>
  void take(T& value) {
    if constexpr (kPlain<T>) {
      const std::string_view from = next(sizeof value);
      if (from.size() != sizeof value) return;
      if constexpr (std::is_same_v<T, bool>) {
        value = from[0] != 0;
      } else {
        std::memcpy(&value, from.data(), sizeof value);
      }
    } else {
      fields(*this, value);
    }
  }
  void take(std::string& text) { text = next(size()); }
  template <typename T>
  void take(std::vector<T>& values) {
    const std::size_t count = size();
    if (count > bytes_.size()) {  // each takes at least a byte
      sound_ = false;
      return;
    }
    values.resize(count);
    for (T& value : values) take(value);
  }
  template <typename T>
  void take(std::optional<T>& value) {
    bool there = false;
    take(there);
    if (there) take(value.emplace());
  }
  std::size_t size() {
    std::size_t size = 0;
    take(size);
    return size;
  }
  /// The next bytes, as many as asked for or none.
  std::string_view next(std::size_t count) {
    if (count > bytes_.size()) {
      sound_ = false;
      bytes_ = {};
      return {};
    }
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }

  std::string_view bytes_;
  bool sound_ = true;
};

template <typename Message>
std::string written(const Message& message) {
  Writer writer;
  Message copy = message;
  fields(writer, copy);
  return writer.take();
}

template <typename Message>
std::optional<Message> read(std::string_view bytes) {
  std::optional<Message> message(std::in_place);
  Reader reader(bytes);
  fields(reader, *message);
  if (!reader.whole()) message.reset();
  return message;
}

}  // namespace

std::string write_message(const LaneOrder& order) { return written(order); }
std::string write_message(const LaneNews& news) { return written(news); }
std::optional<LaneOrder> read_order(std::string_view bytes) { return read<LaneOrder>(bytes); }
std::optional<LaneNews> read_news(std::string_view bytes) { return read<LaneNews>(bytes); }

}  // namespace assay::run
