"""Deltas joined to a whole answer, from servers that repeat, interleave and share."""

import json
import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from hermes_core.route.assemble import MAX_SPLIT, Assembled, Assembler
from hermes_plugins import (
    Delta,
    FinishMark,
    ReasoningPiece,
    TextPiece,
    ToolFragment,
    Usage,
    UsageReport,
)

STOP = FinishMark("tool_calls")


def piece(
    arguments: str = "", *, name: str = "", id: str = "", index: int = -1, whole: bool = False  # noqa: A002
) -> ToolFragment:  # fmt: skip
    return ToolFragment(index=index, id=id, name=name, arguments=arguments, whole=whole)


def assembled(*deltas: Delta, token: str = "r1") -> Assembled:
    assembler = Assembler(token=token)
    for delta in deltas:
        assembler.feed(delta)
    return assembler.finish()


def calls(answer: Assembled) -> list[tuple[str, str, str]]:
    return [(call.id, call.name, call.arguments) for call in answer.tool_calls]


def test_text_reasoning_usage_and_the_finish_are_kept() -> None:
    answer = assembled(
        ReasoningPiece("hm "),
        ReasoningPiece("yes"),
        TextPiece("Hel"),
        TextPiece("lo"),
        UsageReport(Usage(input=1)),
        UsageReport(Usage(input=7, output=2)),
        FinishMark("length", "max_tokens"),
    )
    assert (answer.text, answer.reasoning) == ("Hello", "hm yes")
    assert answer.usage == Usage(input=7, output=2)
    assert (answer.finish, answer.detail) == ("length", "max_tokens")


def test_tagged_reasoning_is_shown_and_stored_apart_from_text() -> None:
    assembler = Assembler()
    shown = [assembler.feed(TextPiece(text)) for text in ("<th", "ink>why</think>", "\n\nbecause")]
    assert "".join(split.text for split in shown) == "because"
    assert "".join(split.reasoning for split in shown) == "why"
    assert (assembler.finish().text, assembler.finish().reasoning) == ("because", "why")


def test_a_held_back_tail_comes_with_flush_and_is_stored_once() -> None:
    assembler = Assembler()
    assembler.feed(TextPiece("x\n<thi"))
    assert assembler.flush().text == "<thi"
    assert assembler.finish().text == "x\n<thi"


def test_text_before_a_lone_closing_tag_is_stored_as_reasoning() -> None:
    answer = assembled(TextPiece("I weigh it.\n"), TextPiece("</think>\nYes."), FinishMark("stop"))
    assert (answer.text, answer.reasoning) == ("Yes.", "I weigh it.")


def test_a_cut_stream_has_no_finish() -> None:
    assert assembled(TextPiece("half")).finish is None


def test_a_stop_with_tool_calls_counts_as_tool_calls_and_the_other_way_round() -> None:
    assert assembled(piece("{}", name="now", id="a"), FinishMark("stop")).finish == "tool_calls"
    assert assembled(TextPiece("hi"), FinishMark("tool_calls")).finish == "stop"


def test_a_name_and_arguments_repeated_on_every_delta_are_one_call() -> None:
    repeated = piece('{"path":"x"}', name="read_file", id="a", index=0)
    answer = assembled(repeated, repeated, repeated, STOP)
    assert calls(answer) == [("a", "read_file", '{"path":"x"}')]


def test_arguments_that_grow_with_every_delta_are_one_call() -> None:
    texts = ('{"pa', '{"path":', '{"path":"x"}', '{"path":"x"}')
    answer = assembled(*(piece(text, name="read_file", id="a", index=0) for text in texts), STOP)
    assert calls(answer) == [("a", "read_file", '{"path":"x"}')]


def test_a_name_in_pieces_is_joined() -> None:
    answer = assembled(piece(name="read_", id="a", index=0), piece(name="file", index=0), STOP)
    assert answer.tool_calls[0].name == "read_file"


def test_two_ids_under_one_index_are_two_calls() -> None:
    answer = assembled(
        piece(name="a", id="1", index=0),
        piece('{"x":1}', index=0),
        piece(name="b", id="2", index=0),
        piece('{"y"', index=0),
        piece(":2}", index=0),
        STOP,
    )
    assert calls(answer) == [("1", "a", '{"x":1}'), ("2", "b", '{"y":2}')]


def test_an_id_that_changes_with_every_delta_is_still_one_call() -> None:
    answer = assembled(
        piece('{"x"', name="a", id="1", index=0), piece(":1}", id="2", index=0), STOP
    )
    assert calls(answer) == [("1", "a", '{"x":1}')]


def test_one_id_under_two_indexes_is_two_calls_with_ids_of_their_own() -> None:
    answer = assembled(
        piece('{"x":1}', name="a", id="same", index=0),
        piece('{"x":2}', name="a", id="same", index=1),
        STOP,
    )
    first, second = answer.tool_calls
    assert (first.arguments, second.arguments) == ('{"x":1}', '{"x":2}')
    assert first.id == "same" != second.id


def test_interleaved_fragments_find_their_calls_by_id_or_by_index() -> None:
    by_id = assembled(
        piece('{"x"', name="a", id="1", index=0),
        piece('{"y"', name="b", id="2", index=0),
        piece(":1}", id="1", index=0),
        piece(":2}", id="2", index=0),
        STOP,
    )
    by_index = assembled(
        piece('{"x"', name="a", id="1", index=0),
        piece('{"y"', name="b", id="2", index=1),
        piece(":1}", index=0),
        piece(":2}", index=1),
        STOP,
    )
    assert calls(by_id) == calls(by_index) == [("1", "a", '{"x":1}'), ("2", "b", '{"y":2}')]


def test_whole_calls_without_ids_or_indexes_stay_apart() -> None:
    answer = assembled(
        piece('{"x":1}', name="a", whole=True), piece('{"x":2}', name="a", whole=True), STOP
    )
    assert [call.arguments for call in answer.tool_calls] == ['{"x":1}', '{"x":2}']


def test_a_whole_argument_text_at_the_end_replaces_the_pieces() -> None:
    answer = assembled(
        piece('{"x"', name="a", id="1", index=0),
        piece('{"x":1}', id="1", index=0, whole=True),
        STOP,
    )
    assert calls(answer) == [("1", "a", '{"x":1}')]


def test_missing_ids_are_made_from_the_request_and_never_twice() -> None:
    def made(token: str) -> list[str]:
        deltas = (piece('{"x":1}', name="a", whole=True),) * 2
        return [call.id for call in assembled(*deltas, STOP, token=token).tool_calls]

    assert all(re.fullmatch(r"call_[12]_[0-9a-f]{8}", call_id) for call_id in made("r1"))
    assert len(set(made("r1") + made("r2"))) == 4
    assert made("r1") == made("r1")


def test_argument_objects_in_one_entry_are_split_into_calls() -> None:
    answer = assembled(piece('{"x":1} {"x":2}', name="a", id="1", index=0), STOP)
    assert [call.arguments for call in answer.tool_calls] == ['{"x":1}', '{"x":2}']
    assert answer.tool_calls[0].id == "1" != answer.tool_calls[1].id
    assert answer.problems == {}


def test_an_empty_object_before_the_arguments_is_a_placeholder() -> None:
    answer = assembled(piece('{}{"x":1}', name="a", id="1", index=0), STOP)
    assert calls(answer) == [("1", "a", '{"x":1}')]


def test_objects_that_cannot_be_split_are_a_problem_and_keep_their_text() -> None:
    answer = assembled(piece('{"x":1}{"x":', name="a", id="1", index=0), STOP)
    assert answer.tool_calls[0].arguments == '{"x":1}{"x":'
    assert "several argument objects, and number 2 is not valid" in answer.problems["1"]


def test_very_many_objects_in_one_entry_are_a_problem() -> None:
    text = "".join(f'{{"x":{number}}}' for number in range(MAX_SPLIT + 1))
    answer = assembled(piece(text, name="a", id="1", index=0), STOP)
    assert "carried 17 argument objects" in answer.problems["1"]


def test_arguments_cut_by_the_output_limit_are_a_problem_that_says_so() -> None:
    answer = assembled(
        piece('{"path":"x","content":"aaa', name="write_file", id="1", index=0),
        FinishMark("length"),
    )
    assert "cut off after 26 characters because the output limit" in answer.problems["1"]
    assert "smaller calls" in answer.problems["1"]


def test_a_last_call_cut_before_its_arguments_is_a_problem_but_an_earlier_one_is_not() -> None:
    answer = assembled(
        piece(name="now", id="1", index=0), piece(name="write", id="2", index=1), FinishMark("length")
    )  # fmt: skip
    assert list(answer.problems) == ["2"]


def test_arguments_cut_by_the_connection_are_a_problem_that_says_so() -> None:
    answer = assembled(piece('{"x"', name="a", id="1", index=0))
    assert "because the connection broke" in answer.problems["1"]


def test_whole_arguments_under_the_output_limit_are_no_problem() -> None:
    answer = assembled(piece('{"x":1}', name="a", id="1", index=0), FinishMark("length"))
    assert answer.problems == {}


def test_no_arguments_and_broken_json_are_left_to_the_schema() -> None:
    answer = assembled(
        piece(name="now", id="1", index=0), piece('{"x":1]', name="a", id="2", index=1), STOP
    )
    assert [call.arguments for call in answer.tool_calls] == ["", '{"x":1]']
    assert answer.problems == {}


def test_a_call_without_a_name_is_a_problem() -> None:
    answer = assembled(piece('{"x":1}', id="1", index=0), STOP)
    assert "without a tool name" in answer.problems["1"]


ARGUMENTS = st.dictionaries(
    st.text(max_size=4), st.text(max_size=6) | st.integers() | st.lists(st.booleans(), max_size=3),
    min_size=1, max_size=3,
).map(lambda value: json.dumps(value, ensure_ascii=False))  # fmt: skip
NAMES = st.sampled_from(["read_file", "terminal", "todo"])
WIRES = st.sampled_from(["both", "index", "id", "same index"])


@given(st.lists(st.tuples(NAMES, ARGUMENTS), min_size=1, max_size=4), WIRES, st.data())
def test_any_cutting_and_interleaving_gives_the_same_calls(
    wanted: list[tuple[str, str]], wire: str, data: st.DataObject
) -> None:
    queues: list[list[ToolFragment]] = []
    for number, (name, arguments) in enumerate(wanted):
        index = {"both": number, "index": number, "id": -1, "same index": 0}[wire]
        call_id = "" if wire == "index" else f"id{number}"
        cuts = sorted(data.draw(st.sets(st.integers(0, len(arguments)), max_size=4)))
        edges = [0, *cuts, len(arguments)]
        texts = [arguments[a:b] for a, b in pairwise(edges)]
        first = piece(texts[0], name=name, id=call_id, index=index)
        queues.append([first, *(piece(text, id=call_id, index=index) for text in texts[1:])])
    deltas: list[Delta] = [queue.pop(0) for queue in queues]
    while any(queues):
        deltas.append(data.draw(st.sampled_from([queue for queue in queues if queue])).pop(0))
    answer = assembled(*deltas, STOP)
    assert [(call.name, call.arguments) for call in answer.tool_calls] == wanted
    assert len({call.id for call in answer.tool_calls}) == len(wanted)
    assert answer.problems == {}


@given(st.lists(st.builds(
    ToolFragment,
    index=st.integers(-1, 2),
    id=st.sampled_from(["", "a", "b"]),
    name=st.sampled_from(["", "x", "y"]),
    arguments=st.sampled_from(["", "{}", '{"a":', "1}", '{"a":1}', "[", "x"]),
    whole=st.booleans(),
), max_size=8))  # fmt: skip
def test_whatever_comes_every_call_has_an_id_of_its_own(fragments: list[ToolFragment]) -> None:
    answer = assembled(*fragments, STOP)
    ids = [call.id for call in answer.tool_calls]
    assert all(ids)
    assert len(set(ids)) == len(ids)
    assert set(answer.problems) <= set(ids)
