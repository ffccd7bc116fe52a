#pragma once

#include <string>
#include <vector>

#include "results/store.hpp"

namespace assay::report {

/// A recorded run as JUnit XML, as Jenkins and GitLab read it: one suite for each converter version, one test for each
/// verdict.
///
/// A green verdict is a passed test; a red one is a failure, or an error where nothing could be compared (crash,
/// timeout, oom, and our own faults). JUnit knows nothing between: an expected failure, a declared `unsupported` and an
/// amber verdict are skipped tests whose type is the verdict, since none of them passed. What a verdict measured stands
/// in its output.
[[nodiscard]] std::string junit_xml(const results::RunInfo& run, const std::vector<results::ResultRow>& rows);

/// Text as XML takes it: what XML forbids (control characters, bytes that are not UTF-8) becomes U+FFFD. In an
/// attribute ends of lines are written as references, since a reader makes blanks of plain ones.
enum class XmlPlace { content, attribute };
[[nodiscard]] std::string xml_escaped(const std::string& text, XmlPlace place);

}  // namespace assay::report
