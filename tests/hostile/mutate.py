"""Every message that is one step from a given one: a field left out, doubled, emptied, of another kind or far too large."""

INTEGERS = (0, -1, 1, 9, 2**31, 2**63 - 1, -2**63)
TEXTS = (b"", b"\xff\xfe\x80", b"a\x00b", b"\x1b[2J\x1b]0;owned\x07", b"x\n2382 planned: 2382 pass", b"x" * 70000)


def changed(message, at, fields):
    """`message` with the field at path `at` replaced by `fields`."""
    index = at[0]
    if len(at) == 1:
        return message[:index] + fields + message[index + 1:]
    number, inner = message[index]
    return message[:index] + [(number, changed(inner, at[1:], fields))] + message[index + 1:]


def paths(message, at=()):
    for index, (number, value) in enumerate(message):
        yield at + (index,), number, value
        if isinstance(value, list):
            yield from paths(value, at + (index,))


def others(number, value):
    """Fields that may stand in the place of one."""
    yield "gone", []
    yield "twice", [(number, value), (number, value)]
    if isinstance(value, int) and not isinstance(value, bool):
        for other in INTEGERS:
            if other != value:
                yield f"is {other}", [(number, other)]
        yield "is text", [(number, b"text")]
    elif isinstance(value, (bytes, str)):
        for index, text in enumerate(TEXTS):
            yield f"is text {index}", [(number, text)]
        yield "is cut", [(number, value[:len(value) // 2])]
        yield "is a number", [(number, 7)]
    elif isinstance(value, list):
        yield "is empty", [(number, [])]
        yield "is garbage", [(number, b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")]


def mutations(message):
    """Pairs of a name and a changed message."""
    for at, number, value in paths(message):
        place = ".".join(str(index) for index in at) + f" (field {number})"
        for what, fields in others(number, value):
            yield f"{place} {what}", changed(message, at, fields)
