// What a run knows of a converter before it asks for anything.
#include "harness/programs/subject.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::programs {
namespace {

using converters::Outcome;
using testing::HasSubstr;

ConverterSpec shell(const std::string& script) {
  ConverterSpec spec;
  spec.name = "sh";
  spec.command = {"sh", "-c", "read -r line; " + script};
  return spec;
}

/// Says what it is, and answers nothing else.
ConverterSpec described() {
  return shell(R"(echo '{"id":1,"status":"ok","name":"c","version":"1","supports":{},"policy":{}}'; cat)");
}

TEST(Subject, IsBrokenAsItsProgramFell) {
  EXPECT_EQ(describe(described(), {}).broken, "");
  for (const auto& [script, outcome] :
       {std::pair("exit 3", Outcome::crash),
        {"exit 137", Outcome::oom},
        {"echo std::bad_alloc >&2; exit 134", Outcome::oom},
        {R"(echo '{"id":1,"status":"error","reason":"MemoryError"}')", Outcome::oom},
        {R"(echo '{"id":1,"status":"error","reason":"no licence"}')", Outcome::crash}}) {
    const Subject subject = describe(shell(script), {});
    EXPECT_EQ(subject.broken_as, outcome) << script;
    EXPECT_THAT(subject.broken, HasSubstr(std::string(converters::outcome_name(outcome)) + ": "));
  }
}

TEST(Subject, IsBrokenAsItsExecutorFell) {
  const Subject subject = describe(executed_by(described(), shell("exit 137")), {});
  EXPECT_EQ(subject.broken_as, Outcome::oom) << subject.broken;
}

}  // namespace
}  // namespace assay::programs
