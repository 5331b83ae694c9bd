"""request_user_selection: what may be asked, and which answers fit."""

from typing import Any

import pytest

from turnstream.tools.ui import request_user_selection

OPTIONS = [{"value": "a", "label": "A"}, {"value": "b"}, {"value": "c", "description": "the last"}]
SINGLE = {"kind": "single", "prompt": "Which?", "options": OPTIONS}
MULTIPLE = {"kind": "multiple", "prompt": "Which?", "options": OPTIONS}
DATE = {"kind": "date", "prompt": "When?"}
RANGE = {"kind": "date_range", "prompt": "When?"}
FORM = {
    "kind": "form",
    "prompt": "Who comes?",
    "fields": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Name"},
            "guests": {"type": "integer", "minimum": 0},
        },
        "required": ["name"],
    },
}
JUNE = {"min_date": "2025-06-01", "max_date": "2025-06-30"}


def no_results(_call: str) -> None:
    """A turn without earlier calls."""


def check(args: dict[str, Any], answer: Any) -> Any:
    assert request_user_selection.check_answer is not None
    return request_user_selection.check_answer(args, answer)


def refusal(args: dict[str, Any]) -> str:
    with pytest.raises(ValueError, match=r"\.$") as refused:
        request_user_selection.validate(args, no_results)
    assert type(refused.value) is ValueError
    sentence = str(refused.value)
    assert len(sentence) < 500
    return sentence


def test_a_selection_waits_for_the_browser() -> None:
    assert request_user_selection.awaits_client


@pytest.mark.parametrize(
    "args",
    [
        SINGLE,
        {**SINGLE, "default": "b"},
        MULTIPLE,
        {**MULTIPLE, "min_selected": 1, "max_selected": 3, "default": "c"},
        {**MULTIPLE, "min_selected": 2, "max_selected": 2},
        {**MULTIPLE, "min_selected": 1.0},
        DATE,
        {**DATE, **JUNE, "default": "2025-06-30"},
        {**RANGE, **JUNE, "default": "2025-06-01"},
        {**DATE, "min_date": "2025-06-01", "max_date": "2025-06-01"},
        {**DATE, "default": "2024-02-29"},
        FORM,
    ],
)
def test_a_sound_question_is_kept_as_it_is(args: dict[str, Any]) -> None:
    assert request_user_selection.validate(args, no_results) == args


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({}, "kind: Field required; prompt: Field required."),
        ({"kind": "single", "prompt": "?"}, "options: "),
        ({"kind": "multiple", "prompt": "?"}, "options: "),
        ({**SINGLE, "options": []}, "options: "),
        ({**SINGLE, "options": [{"value": "a"}, {"value": "a"}]}, "options: every value"),
        ({**SINGLE, "default": "z"}, "default: should be the value of one"),
        ({**SINGLE, "default": ""}, "default: should be the value of one"),
        ({**MULTIPLE, "default": "z"}, "default: should be the value of one"),
        ({**MULTIPLE, "max_selected": 4}, "max_selected: should be at most"),
        ({**MULTIPLE, "min_selected": 4}, "min_selected: should be at most"),
        ({**MULTIPLE, "min_selected": 3, "max_selected": 2}, "min_selected: should be at most"),
        ({**MULTIPLE, "max_selected": 0}, "max_selected: "),
        ({**MULTIPLE, "min_selected": -1}, "min_selected: "),
        ({**MULTIPLE, "min_selected": 1.5}, "min_selected: "),
        ({**MULTIPLE, "min_selected": True}, "min_selected: "),
        ({**MULTIPLE, "min_selected": "1"}, "min_selected: "),
        ({**DATE, "min_date": "2025-02-30"}, "min_date: should be a date that exists"),
        ({**DATE, "max_date": "2025-13-01"}, "max_date: should be a date that exists"),
        ({**DATE, "min_date": "0000-01-01"}, "min_date: should be a date that exists"),
        ({**DATE, "min_date": "2025-01-01\n"}, "min_date: "),
        ({**DATE, "min_date": "2025-1-1"}, "min_date: "),
        ({**DATE, "min_date": "2025-01-\u0660\u0661"}, "min_date: "),
        (
            {**DATE, "min_date": "2025-06-02", "max_date": "2025-06-01"},
            "min_date: should not be after",
        ),
        ({**DATE, **JUNE, "default": "2025-07-01"}, "default: should be a date from 2025-06-01"),
        ({**DATE, "default": "tomorrow"}, "default: should be a date"),
        ({**RANGE, **JUNE, "default": "2025-05-31"}, "default: should be a date from 2025-06-01"),
        ({**SINGLE, "min_date": "2025-02-30"}, "min_date: should be a date that exists"),
        ({**DATE, "max_selected": 2**70}, "max_selected: is too big"),
        ({**SINGLE, "prompt": ""}, "prompt: "),
        ({**SINGLE, "prompt": None}, "prompt: "),
        ({**SINGLE, "question": "?"}, "question: "),
    ],
)
def test_a_question_that_cannot_be_answered_is_refused(args: dict[str, Any], said: str) -> None:
    assert refusal(args).startswith(said)


FITTING: list[tuple[dict[str, Any], Any, Any]] = [
    (SINGLE, {"value": "a"}, {"value": "a"}),
    (SINGLE, "c", {"value": "c"}),
    (MULTIPLE, {"values": ["c", "a"]}, {"values": ["c", "a"]}),
    (MULTIPLE, ["b"], {"values": ["b"]}),
    (MULTIPLE, [], {"values": []}),
    ({**MULTIPLE, "min_selected": 1, "max_selected": 2}, ["a", "b"], {"values": ["a", "b"]}),
    ({**MULTIPLE, "min_selected": 1.0}, ["a"], {"values": ["a"]}),
    (DATE, {"date": "2024-02-29"}, {"date": "2024-02-29"}),
    (DATE, "0001-01-01", {"date": "0001-01-01"}),
    (DATE, "9999-12-31", {"date": "9999-12-31"}),
    ({**DATE, **JUNE}, "2025-06-01", {"date": "2025-06-01"}),
    ({**DATE, **JUNE}, "2025-06-30", {"date": "2025-06-30"}),
    *(
        (args, {"start": start, "end": end}, {"start": start, "end": end})
        for args in (RANGE, {**RANGE, **JUNE})
        for start, end in [("2025-06-01", "2025-06-30"), ("2025-06-05", "2025-06-05")]
    ),
    *((args, {"cancelled": True}, {"cancelled": True}) for args in (SINGLE, MULTIPLE, DATE, RANGE)),
]


@pytest.mark.parametrize(("args", "answer", "stored"), FITTING)
def test_a_fitting_answer_is_stored_in_its_one_form(
    args: dict[str, Any], answer: Any, stored: Any
) -> None:
    assert check(args, answer) == stored


def test_a_cancelled_question_needs_no_minimum() -> None:
    assert check({**MULTIPLE, "min_selected": 2}, {"cancelled": True}) == {"cancelled": True}


UNFIT: list[tuple[dict[str, Any], Any]] = [
    *(
        (SINGLE, unfit)
        for unfit in ["z", "", "A", {"value": "z"}, {"value": None}, {"value": ["a"]}]
    ),
    *((SINGLE, unfit) for unfit in [["a"], {"values": ["a"]}, {"value": "a", "label": "A"}]),
    *(
        (MULTIPLE, unfit)
        for unfit in ["a", ["z"], ["a", "a"], [1], [None], [["a"]], {"values": "a"}]
    ),
    *((MULTIPLE, unfit) for unfit in [{"value": "a"}, {"values": ["a", {}]}]),
    ({**MULTIPLE, "min_selected": 2}, ["a"]),
    ({**MULTIPLE, "min_selected": 1}, []),
    ({**MULTIPLE, "max_selected": 2}, ["a", "b", "c"]),
    *(
        (DATE, unfit)
        for unfit in ["2025-02-30", "2025-13-01", "0000-01-01", "20250601", "2025-W01-1"]
    ),
    *(
        (DATE, unfit)
        for unfit in ["2025-06-01T00:00", "2025-06-01\n", " 2025-06-01", "tomorrow", ""]
    ),
    *(
        (DATE, unfit)
        for unfit in ["2025-06-\u0660\u0661", {"date": 20250601}, {"value": "2025-06-01"}]
    ),
    *(({**DATE, **JUNE}, unfit) for unfit in ["2025-05-31", "2025-07-01"]),
    *(
        (RANGE, unfit)
        for unfit in ["2025-06-01", ["2025-06-01", "2025-06-02"], {"start": "2025-06-01"}]
    ),
    (RANGE, {"start": "2025-06-02", "end": "2025-06-01"}),
    (RANGE, {"start": "2025-02-30", "end": "2025-03-01"}),
    (RANGE, {"start": "2025-02-28", "end": None}),
    ({**RANGE, **JUNE}, {"start": "2025-05-31", "end": "2025-06-02"}),
    ({**RANGE, **JUNE}, {"start": "2025-06-30", "end": "2025-07-01"}),
    *(
        (args, unfit)
        for args in (SINGLE, MULTIPLE, DATE, RANGE)
        for unfit in [None, True, 1, {}, {"cancelled": False}, {"cancelled": 1}, {"x": 1}]
    ),
    *(
        (args, {"cancelled": True, name: "a"})
        for args in (SINGLE, DATE)
        for name in ("value", "date")
    ),
]


@pytest.mark.parametrize(("args", "answer"), UNFIT)
def test_an_answer_that_does_not_fit_is_refused(args: dict[str, Any], answer: Any) -> None:
    with pytest.raises(ValueError, match=r'does not fit the question: .*, or \{"cancelled": true}'):
        check(args, answer)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (SINGLE, "{\"value\": ...} with one of 'a', 'b', 'c'"),
        (MULTIPLE, "{\"values\": [...]} with 0 to 3 different ones of 'a', 'b', 'c'"),
        ({**MULTIPLE, "min_selected": 1, "max_selected": 2}, "with 1 to 2 different ones"),
        ({**DATE, **JUNE}, '{"date": "YYYY-MM-DD"} from 2025-06-01 to 2025-06-30'),
        ({**RANGE, **JUNE}, '{"start": "YYYY-MM-DD", "end": "YYYY-MM-DD"}'),
    ],
)
def test_a_refusal_says_what_would_fit(args: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=r"\.$") as refused:
        check(args, 0)
    assert said in str(refused.value)


def test_a_refusal_names_only_a_few_of_many_options() -> None:
    args = {**SINGLE, "options": [{"value": f"{n}" * 10_000} for n in range(10, 100)]}
    with pytest.raises(ValueError, match=r"\.$") as refused:
        check(args, 0)
    assert len(str(refused.value)) < 1000


@pytest.mark.parametrize("answers", [{"name": "Ada"}, {"name": "Ada", "guests": 2}])
def test_the_answers_of_a_form_fit_its_fields(answers: dict[str, Any]) -> None:
    assert check(FORM, {"answers": answers}) == {"answers": answers}
    assert check(FORM, {"cancelled": True}) == {"cancelled": True}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"answers": {}}, "name"),
        ({"answers": {"name": "Ada", "guests": -1}}, "guests"),
        ({"answers": 7}, "object"),
        ({"name": "Ada"}, "does not fit the question"),
        ("Ada", "does not fit the question"),
    ],
)
def test_a_refused_answer_to_a_form_names_the_field(answer: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said) as refused:
        check(FORM, answer)
    assert str(refused.value).endswith(".")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (None, "fields: Field required for kind 'form'"),
        ({"type": "object"}, "fields: should have properties"),
        ({"properties": {"a": {"type": "string"}}}, "fields: it must be the JSON Schema of an obj"),
        ({"type": "object", "properties": {"a": {"type": "text"}}}, "fields: #/properties/a/type"),
    ],
)
def test_a_form_needs_a_schema_of_its_fields(fields: Any, said: str) -> None:
    args = {"kind": "form", "prompt": "?", **({} if fields is None else {"fields": fields})}
    assert refusal(args).startswith(said)
