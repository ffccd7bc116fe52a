"""The part of JSON Schema that docs/schema uses: errors(schema, value). A keyword that it doesn't know is an error."""

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "number": (int, float), "integer": int}
CHECKED = {"type", "required", "properties", "additionalProperties", "items", "enum", "const", "anyOf", "oneOf", "not",
           "minLength", "minItems", "maxItems", "maximum", "exclusiveMinimum", "$ref"}
SAID = {"$schema", "$defs", "title", "description"}


def is_of(kind, value):
    return isinstance(value, TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def errors(schema, value, root=None, where="message", strict=False):
    """What is wrong, one line each. With `strict`, a key that `properties` doesn't list is wrong too."""
    root = root or schema
    unknown = schema.keys() - CHECKED - SAID
    assert not unknown, f"schema.py doesn't know {unknown}"
    if "$ref" in schema:
        return errors(root["$defs"][schema["$ref"].removeprefix("#/$defs/")], value, root, where, strict)
    for word, count in (("anyOf", None), ("oneOf", 1)):
        if word in schema:
            tried = [errors(choice, value, root, where, strict) for choice in schema[word]]
            fits = sum(not each for each in tried)
            if fits == 0 or fits != (count or fits):
                return [f"{where}: {fits} of {len(tried)} forms fit", *(line for each in tried for line in each)]
    if "not" in schema:
        return [] if errors(schema["not"], value, root) else [f"{where}: not allowed here"]
    if "const" in schema and (value != schema["const"] or type(value) is not type(schema["const"])):
        return [f"{where}: {value!r} is not {schema['const']!r}"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{where}: {value!r} is none of {schema['enum']}"]
    if "type" in schema and not is_of(schema["type"], value):
        return [f"{where}: {value!r} is no {schema['type']}"]
    found = []
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        found += [f"{where}: no {key!r}" for key in schema.get("required", []) if key not in value]
        for key, item in value.items():
            if key in known:
                found += errors(known[key], item, root, f"{where}.{key}", strict)
            elif isinstance(others, dict):
                found += errors(others, item, root, f"{where}.{key}", strict)
            elif not others or (strict and known):
                found.append(f"{where}: unknown {key!r}")
    sizes = {list: len, str: len}
    if type(value) in sizes:
        low, high = schema.get("minItems", schema.get("minLength", 0)), schema.get("maxItems", len(value))
        if not low <= len(value) <= high:
            found.append(f"{where}: length {len(value)}")
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            found += errors(schema["items"], item, root, f"{where}[{index}]", strict)
    if is_of("number", value):
        if value > schema.get("maximum", value) or not value > schema.get("exclusiveMinimum", value - 1):
            found.append(f"{where}: {value} is out of range")
    return found
