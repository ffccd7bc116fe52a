#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace assay::test {

/// Where `value` is not what a JSON schema asks for, each with its place; empty where it is. Of JSON Schema's words it
/// knows those that the schemas of this project use (type, const, enum, required, properties, additionalProperties,
/// items, minItems, minimum, pattern, anyOf, $ref into $defs, and what only describes); any other word is a fault of
/// the schema and is reported, so that none is passed over. `$ref: "FILE"` or "FILE#/$defs/NAME" is looked for in
/// `folder`.
[[nodiscard]] std::vector<std::string> schema_faults(const nlohmann::json& schema, const nlohmann::json& value,
                                                     const std::string& folder = "");

}  // namespace assay::test
