#include "harness/run/lane_messages.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace assay::run {
namespace {

LaneNews full_news() {
  LaneNews news;
  news.described = {{"line", "broken", 2, "hash"}};
  news.item = 7;
  news.place = 3;
  news.met_expectations = {1, 4};
  results::ResultRow row;
  row.key = {"case", "default", "c\xff", "1", "h"};
  row.verdict = "fail";
  row.reason = std::string("nul \0 inside", 12);
  row.artifact_bytes = 12;
  row.margin = std::numeric_limits<double>::infinity();
  row.seconds = 0.25;
  row.findings = {{"artifact", "scale", "n", "op", "t", "d", "L0", "message", std::nan(""), true}};
  row.metrics = {{"t", "d", "name", -0.0}};
  row.parameters = {{"t", {{0.5, 0.25}, {0, -3}, core::DType::uint8, 1, 32}}};
  row.precision = {{"n", "op", "int8"}};
  row.attempts = {{"convert", 2, "timeout", "late", 1.5}};
  row.coverage = {{"Conv", 2, 1}};
  row.unjudged = {{"n", "op", "why"}};
  row.expectation = results::ExpectationRow{"p", "o", "c", "v", "s", "f", "r", "u", "2026-01-01", 2.5};
  row.detail = "{}";
  news.row = row;
  return news;
}

TEST(LaneMessages, AreReadAsTheyWereWritten) {
  const LaneNews news = full_news();
  const std::string bytes = write_message(news);
  const auto read = read_news(bytes);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(write_message(*read), bytes);
  EXPECT_EQ(read->row->key, news.row->key);
  EXPECT_EQ(read->row->reason, news.row->reason);
  EXPECT_TRUE(std::isinf(*read->row->margin));
  EXPECT_TRUE(std::isnan(read->row->findings[0].margin));
  EXPECT_TRUE(std::signbit(read->row->metrics[0].value));
  EXPECT_EQ(read->row->parameters[0].params, news.row->parameters[0].params);
  EXPECT_EQ(read->row->expectation->margin, 2.5);
  EXPECT_FALSE(read->row->sqnr_db.has_value());
  EXPECT_EQ(read->met_expectations, news.met_expectations);
}

TEST(LaneMessages, CutShortOrDamagedAreNone) {
  const std::string bytes = write_message(full_news());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(read_news(std::string_view(bytes).substr(0, length)).has_value()) << length;
  }
  EXPECT_FALSE(read_news(bytes + "x").has_value());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = '\xff';
    (void)read_news(damaged);  // whatever it is, it ends
  }
  EXPECT_FALSE(read_order(std::string(40, '\xff')).has_value());
}

}  // namespace
}  // namespace assay::run
