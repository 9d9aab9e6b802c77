"""Arguments: parsed, held against the schema, coerced where nothing is lost."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_core.agent.arguments import MAX_CHARS, Fitted, fit_arguments, parse_arguments
from hermes_plugins import ToolError

Schema = dict[str, Any]


def schema(*required: str, **properties: object) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required)}


def complaint(arguments: dict[str, Any], wanted: Schema) -> str:
    with pytest.raises(ToolError) as caught:
        fit_arguments(arguments, wanted)
    assert caught.value.hint == "Mend this and send the call again."
    return caught.value.message


def one(value: object, wanted: object) -> object:
    return fit_arguments({"x": value}, schema(x=wanted)).arguments.get("x", "left out")


# Parsing


@pytest.mark.parametrize(
    "text",
    [
        '{"a": "b\\nc"}',
        ' {"a": "b\\nc"}\n',
        '```json\n{"a": "b\\nc"}\n```',
        '```{"a": "b\\nc"}```',
        '{"a": "b\nc"}',
        '"{\\"a\\": \\"b\\\\nc\\"}"',
    ],
)
def test_an_object_is_read_also_from_its_harmless_wrappings(text: str) -> None:
    assert parse_arguments(text, {}) == {"a": "b\nc"}


@pytest.mark.parametrize("text", ["", "  \n", "null", '""'])
def test_no_text_is_no_arguments_only_where_none_are_required(text: str) -> None:
    assert parse_arguments(text, schema(x={})) == {}
    with pytest.raises(ToolError, match="no arguments, but it needs x, y"):
        parse_arguments(text, schema("x", "y"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": 1 "b": 2}', r"""Expecting ',' delimiter at line 1, column 9: '{"a": 1 ' <- here"""),
        ('{"path": "x", "content": "abc', "end too early, after"),
        ('{"a": ', "end too early, after"),
        ("[1, 2]", "one JSON object, not array of 2"),
        ("7", "one JSON object, not 7"),
        ('"text"', "not valid JSON"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ('{"a": "\\ud800"}', "half of a character pair"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":1}{"b":2}', "Extra data"),
        ('{"a": "' + "x" * MAX_CHARS + '"}', "is the limit"),
    ],
)
def test_what_cannot_be_read_says_why(text: str, words: str) -> None:
    with pytest.raises(ToolError) as caught:
        parse_arguments(text, {})
    assert words in caught.value.message
    assert len(caught.value.message) < 250


@given(st.text() | st.text(alphabet='{}[]":, \\ud0189aenul').map(str))
def test_any_text_gives_an_object_or_a_tool_error(text: str) -> None:
    try:
        value = parse_arguments(text, {})
    except ToolError:
        return
    assert isinstance(value, dict)
    json.dumps(value).encode("utf-8")


# Coercion


@pytest.mark.parametrize(
    ("value", "wanted", "expected"),
    [
        ("5", {"type": "integer"}, 5),
        (" -5 ", {"type": "integer"}, -5),
        ("5.0", {"type": "integer"}, 5),
        (5.0, {"type": "integer"}, 5),
        ("2.5", {"type": "number"}, 2.5),
        (3, {"type": "number"}, 3),
        ("true", {"type": "boolean"}, True),
        ("False", {"type": "boolean"}, False),
        ('["a", "b"]', {"type": "array", "items": {"type": "string"}}, ["a", "b"]),
        ("*.py", {"type": "array", "items": {"type": "string"}}, ["*.py"]),
        ("[ab]*.py", {"type": "array", "items": {"type": "string"}}, ["[ab]*.py"]),
        ('{"a": 1}', {"type": "object"}, {"a": 1}),
        ({"a": 1}, {"type": "array", "items": {"type": "object"}}, [{"a": 1}]),
        (["1", 2], {"type": "array", "items": {"type": "integer"}}, [1, 2]),
        ("5", {"type": ["integer", "null"]}, 5),
        ("5", {"type": ["string", "integer"]}, "5"),
        ("5", {"anyOf": [{"type": "integer"}, {"type": "null"}]}, 5),
        ("5", {"anyOf": [{"type": "integer"}, {"type": "string"}]}, "5"),
        ("2", {"enum": [1, 2]}, 2),
        (None, {"type": "string"}, "left out"),
        (None, {"type": ["string", "null"]}, None),
        (None, {"type": "string", "default": "d"}, "d"),
        (None, {"anyOf": [{"type": "string"}, {"type": "null"}]}, None),
        ([1, "a", "3"], {"prefixItems": [{"type": "integer"}, {"type": "string"}],
                         "items": {"type": "integer"}}, [1, "a", 3]),
    ],
)  # fmt: skip
def test_what_loses_nothing_is_coerced(value: object, wanted: Schema, expected: object) -> None:
    found = one(value, wanted)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("value", "wanted", "problem"),
    [
        (7, {"type": "string"}, "x: expected string, got number"),
        (1.5, {"type": "integer"}, "x: expected integer, got number 1.5"),
        (True, {"type": "integer"}, "x: expected integer, got boolean"),
        (1, {"type": "boolean"}, "x: expected boolean, got number"),
        ("five", {"type": "integer"}, "x: expected integer, got string"),
        ("9" * 30, {"type": "integer"}, "x: expected integer, got string"),
        ("", {"type": "array"}, "x: expected array, got string"),
        ('["a", "b', {"type": "array", "items": {"type": "string"}}, "x: expected array, got string"),
        ("a", {"type": "array", "items": {"type": "integer"}}, "x: expected array, got string"),
        ([1], {"type": ["string", "object"]}, "x: expected string or object, got array"),
        (1, {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
         "x: expected string or array, got integer"),
        ("pendin", {"enum": ["pending", "done"]},
         "x: 'pendin' is not one of 'pending', 'done' (did you mean \"pending\"?)"),
        (True, {"enum": [1]}, "x: true is not one of 1"),
        (2, {"const": 1}, "x: 2 is not one of 1"),
        (0, {"type": "integer", "minimum": 1}, "x: must be at least 1, got 0"),
        ("9", {"type": "integer", "maximum": 8}, "x: must be at most 8, got 9"),
        (1, {"exclusiveMinimum": 1}, "x: must be more than 1, got 1"),
        ("", {"type": "string", "minLength": 1}, "x: needs at least 1 characters, got 0"),
        ("abc", {"maxLength": 2}, "x: takes at most 2 characters, got 3"),
        ([], {"type": "array", "minItems": 1}, "x: needs at least 1 items, got 0"),
        ([1, 2], {"maxItems": 1}, "x: takes at most 1 items, got 2"),
        ("abc", {"pattern": "^x"}, "x: 'abc' does not match the pattern ^x"),
        ("a", {"allOf": [{"type": "string"}, {"minLength": 2}]}, "x: needs at least 2 characters"),
        ([{"old": 1}], {"type": "array", "items": {"properties": {"old": {"type": "string"}}}},
         "x[0].old: expected string, got number"),
        ({}, {"type": "object", "properties": {"y": {}}, "required": ["y"]},
         "x.y: required, but missing"),
        ({}, {"type": "object", "required": ["z"]}, "x.z: required, but missing"),
        (1, False, "x: not allowed"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named_with_its_path(
    value: object, wanted: object, problem: str
) -> None:
    assert problem in complaint({"x": value}, schema(x=wanted))


def test_what_was_read_differently_is_noted() -> None:
    fitted = fit_arguments(
        {"limit": "5", "glob": "*.py", "path": None},
        schema(
            limit={"type": "integer"},
            glob={"type": "array", "items": {"type": "string"}},
            path={"type": "string"},
        ),
    )
    assert fitted == Fitted(
        {"limit": 5, "glob": ["*.py"]},
        (
            "limit: '5' read as integer",
            "glob: '*.py' read as array",
            "path: null read as left out",
        ),
    )


def test_arguments_that_fit_pass_unchanged_and_without_notes() -> None:
    wanted = schema("a", a={"type": "string"}, b={"type": "number"})
    assert fit_arguments({"a": "x", "b": 5.0}, wanted) == Fitted({"a": "x", "b": 5.0})


def test_all_problems_of_a_call_are_told_at_once_up_to_five() -> None:
    wanted = schema(**{f"a{number}": {"type": "integer"} for number in range(7)})
    told = complaint({f"a{number}": "x" for number in range(7)}, wanted)
    assert told.count("expected integer") == 5
    assert told.endswith("; and 2 more.")


# Names


def test_an_unknown_argument_names_the_known_ones() -> None:
    told = complaint({"pth": "x"}, schema(path={}, content={}))
    assert told == (
        'The arguments do not fit: pth: unknown argument (did you mean "path"?); '
        "known: path, content."
    )


def test_a_tool_without_arguments_takes_none() -> None:
    assert "unknown argument; known: none" in complaint({"x": 1}, schema())


def test_further_arguments_pass_where_the_schema_or_its_origin_allows_them() -> None:
    opened = {**schema(), "additionalProperties": {"type": "integer"}}
    assert fit_arguments({"x": "1"}, opened).arguments == {"x": 1}
    assert fit_arguments({"x": "1"}, schema(), strict=False).arguments == {"x": "1"}
    closed = {**schema(), "additionalProperties": False}
    with pytest.raises(ToolError, match="unknown argument"):
        fit_arguments({"x": 1}, closed, strict=False)


def test_a_free_object_inside_takes_anything() -> None:
    assert one({"a": 1}, {"type": "object"}) == {"a": 1}


# Defaults and references


def test_defaults_are_filled_in_everywhere_as_copies() -> None:
    wanted = schema(
        names={"type": "array", "default": []},
        inner={"type": "object", "properties": {"n": {"type": "integer", "default": 3}}},
        none={"type": "string", "default": None},
    )
    first = fit_arguments({"inner": {}}, wanted).arguments
    assert first == {"names": [], "inner": {"n": 3}}
    first["names"].append("x")  # type: ignore[attr-defined]
    assert fit_arguments({}, wanted).arguments == {"names": []}


def test_references_and_parts_of_allof_are_followed() -> None:
    wanted = {
        "type": "object",
        "allOf": [{"$ref": "#/$defs/Named"}, {"properties": {"size": {"type": "integer"}}}],
        "$defs": {
            "Named": {"type": "object", "properties": {"name": {"$ref": "#/$defs/Name"}}},
            "Name": {"type": "string", "minLength": 1},
        },
    }
    assert fit_arguments({"name": "x", "size": "2"}, wanted).arguments == {"name": "x", "size": 2}
    assert "name: needs at least 1 characters" in complaint({"name": ""}, wanted)


def test_a_schema_may_contain_itself() -> None:
    tree: Schema = {
        "type": "object",
        "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}},
    }
    assert fit_arguments({"kids": [{"kids": []}]}, tree).arguments == {"kids": [{"kids": []}]}
    deep: dict[str, Any] = {}
    for _ in range(200):
        deep = {"kids": [deep]}
    assert "nested too deeply" in complaint(deep, tree)


@pytest.mark.parametrize("reference", ["#/$defs/Loop", "#/$defs/Gone", "https://x.test/s", "#/%"])
def test_a_reference_that_leads_nowhere_accepts_anything(reference: str) -> None:
    wanted = {**schema(x={"$ref": reference}), "$defs": {"Loop": {"$ref": "#/$defs/Loop"}}}
    assert fit_arguments({"x": 1}, wanted).arguments == {"x": 1}


def test_a_branching_schema_cannot_take_forever() -> None:
    node: Schema = {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/N"}, "minItems": 2}] * 8}
    deep: list[Any] = []
    for _ in range(30):
        deep = [deep]
    wanted = {**schema(x={"$ref": "#/$defs/N"}), "$defs": {"N": node}}
    assert "x" in complaint({"x": deep}, wanted)


def test_the_schema_the_kit_makes_is_understood() -> None:
    from typing import Annotated, Literal

    import msgspec

    from hermes_plugins import Pure, tool

    class Edit(msgspec.Struct):
        old: str
        new: str = ""

    @tool(toolset="t", effects=[Pure()])
    def patch(
        path: str,
        edits: list[Edit],
        mode: Literal["a", "b"] = "a",
        limit: Annotated[int, msgspec.Meta(ge=1)] | None = None,
    ) -> str:
        """Patch."""
        return ""

    fitted = fit_arguments(
        {"path": "p", "edits": {"old": "x"}, "limit": "3"}, patch.parameters
    ).arguments
    assert fitted == {"path": "p", "edits": [{"old": "x", "new": ""}], "mode": "a", "limit": 3}
    told = complaint({"path": 1, "edits": [{"new": "x"}], "limit": 0}, patch.parameters)
    assert "path: expected string, got number" in told
    assert "edits[0].old: required, but missing" in told
    assert "limit: must be at least 1, got 0" in told


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
    | st.sampled_from(["5", "[1]", "{}", "true", "#", "object", "array", "integer"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["x", "type", "items", "properties", "anyOf", "allOf", "$ref", "enum", "default",
                         "required", "minimum", "pattern", "additionalProperties", "prefixItems"]),
        inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(["x", "type", "items"]), JSON, max_size=3), JSON)
def test_any_arguments_and_any_schema_give_a_result_or_a_tool_error(
    arguments: dict[str, Any], part: object
) -> None:
    for wanted in (schema(x=part, items=part), part if isinstance(part, dict) else {}):
        try:
            fitted = fit_arguments(arguments, wanted)
        except ToolError:
            continue
        assert isinstance(fitted.arguments, dict)
