#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace assay::test {

/// An element of an XML document.
struct Xml {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::vector<Xml> children;
  std::string text;  ///< of this element alone

  [[nodiscard]] std::vector<const Xml*> all(const std::string& child) const;
};

/// Reads a document as strictly as XML 1.0 asks for what Assay writes: a declaration, elements, attributes, text and
/// references; no comments, no CDATA, no document type. Nothing where it is not well-formed, with why in `fault`.
[[nodiscard]] std::optional<Xml> read_xml(const std::string& document, std::string& fault);

/// Where `document` is not what Jenkins' and GitLab's readers of JUnit files take: an element that may not stand where
/// it does, an attribute that is unknown or missing, a count that is none or is wrong. Empty where it is right.
[[nodiscard]] std::vector<std::string> junit_faults(const Xml& document);

}  // namespace assay::test
