"""What foreign schemas cost, in steps: never more than a constant times |schema| x |value|."""

import json
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from turnstream.tools.schemas import (
    CHECKING_STEPS,
    READING_STEPS,
    Budget,
    SchemaFault,
    ToolSchema,
    misfit,
)
from turnstream.tools.schemas.budget import TooCostly
from turnstream.tools.schemas.values import Table

PLENTY = 10**9
STEPS_A_PAIR = 10
"""At the most: of a check, by the product of the sizes, and of reading, by the schema's size."""

Attack = Callable[[int], tuple[dict[str, Any], Any]]


def size(value: Any) -> int:
    """How many values and names there are in a value; long texts count as more."""
    total, todo = 0, [value]
    while todo:
        item = todo.pop()
        total += 1
        if isinstance(item, dict):
            todo += [*item, *item.values()]
        elif isinstance(item, list):
            todo += item
        else:
            total += len(str(item)) // 100
    return total


def reading_steps(schema: dict[str, Any]) -> int:
    budget = Budget(PLENTY)
    ToolSchema(schema, budget)
    return PLENTY - budget.left


def checking_steps(schema: dict[str, Any], value: Any) -> int:
    budget = Budget(PLENTY)
    ToolSchema(schema, Budget(PLENTY)).misfit(value, budget)
    return PLENTY - budget.left


def doubling(keyword: str) -> Attack:
    def attack(levels: int) -> tuple[dict[str, Any], Any]:
        twice = {f"a{n}": {keyword: [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(levels)}
        return {"$ref": "#/$defs/a0", "$defs": {**twice, f"a{levels}": {"type": "integer"}}}, "x"

    return attack


def nested(wrap: Callable[[Any], dict[str, Any]], value: Any) -> Attack:
    def attack(levels: int) -> tuple[dict[str, Any], Any]:
        schema: dict[str, Any] = {"type": "integer"}
        for _ in range(levels):
            schema = wrap(schema)
        return schema, value

    return attack


def words(letter: str, count: int) -> list[str]:
    return [f"{letter}{n}" for n in range(count)]


ATTACKS: dict[str, Attack] = {
    "doubled references": doubling("allOf"),
    "doubled references in anyOf": doubling("anyOf"),
    "doubled references in oneOf": doubling("oneOf"),
    "a tree of oneOf": nested(lambda inner: {"oneOf": [inner, inner]}, "x"),
    "a tree of anyOf": nested(lambda inner: {"anyOf": [inner, inner]}, "x"),
    "a chain of allOf": nested(lambda inner: {"allOf": [inner, {"minimum": 0}]}, 1),
    "a chain of not": nested(lambda inner: {"not": inner}, 1),
    "a chain of if": nested(lambda inner: {"if": inner, "then": {"minimum": 0}, "else": {}}, 1),
    "items with anyOf": lambda n: (
        {"items": {"anyOf": [*({"required": [name]} for name in words("x", n)), {}]}},
        [{"y": index} for index in range(n)],
    ),
    "items with allOf": lambda n: (
        {"items": {"allOf": [{"maximum": n + index} for index in range(n)]}},
        list(range(n)),
    ),
    "items of items with anyOf": lambda n: (
        {"items": {"anyOf": [*([{"items": {"items": {"type": "null"}}}] * n), {}]}},
        [[[index]] for index in range(n)],
    ),
    "items behind a chain of references": lambda n: (
        {
            "items": {"$ref": "#/$defs/a0"},
            "$defs": {**{f"a{i}": {"$ref": f"#/$defs/a{i + 1}"} for i in range(n)}, f"a{n}": {}},
        },
        list(range(n)),
    ),
    "equal items": lambda n: ({"allOf": [{"items": {"minimum": 0}}] * n}, [0] * n),
    "contains in large arrays": lambda n: (
        {"allOf": [{"contains": {"const": index}} for index in range(n)]},
        list(range(n)),
    ),
    "a large enum of large arrays": lambda n: (
        {"items": {"enum": [[0] * n + [index] for index in range(n)]}},
        [[0] * n + [-index] for index in range(1, n)],
    ),
    "a large const against large objects": lambda n: (
        {"items": {"anyOf": [{"const": dict.fromkeys(words("x", n), i)} for i in range(n)]}},
        [dict.fromkeys(words("x", n), -index) for index in range(1, n)],
    ),
    "an enum of long texts": lambda n: (
        {"items": {"enum": ["x" * 5000 + str(index) for index in range(n)]}},
        ["x" * 5000 + str(-index) for index in range(1, n)],
    ),
    "equal items but for their ends": lambda n: (
        {"uniqueItems": True},
        [["x"] * 20 + [{"y": [index]}] for index in range(n)],
    ),
    "arrays of which none is unique": lambda n: (
        {"allOf": [{"items": {"uniqueItems": True}}] * n},
        [[*range(n), index] for index in range(n)],
    ),
    "property names": lambda n: (
        {"allOf": [{"propertyNames": {"maxLength": 9 + index}} for index in range(n)]},
        dict.fromkeys(words("x", n), 1),
    ),
    "additional properties": lambda n: (
        {"allOf": [{"additionalProperties": {"maximum": n + index}} for index in range(n)]},
        {name: index for index, name in enumerate(words("x", n))},
    ),
    "dependentRequired": lambda n: (
        {"items": {"dependentRequired": {name: words("y", 2) for name in words("x", n)}}},
        [{"x1": index, "y0": 1, "y1": 1} for index in range(n)],
    ),
    "dependentSchemas": lambda n: (
        {"items": {"dependentSchemas": {name: {"maxProperties": 2} for name in words("x", n)}}},
        [{"x1": index} for index in range(n)],
    ),
    "properties": lambda n: (
        {"items": {"properties": {name: {} for name in words("x", n)}}},
        [{"x1": index} for index in range(n)],
    ),
    "multiples of decimals": lambda n: (
        {"items": {"allOf": [{"multipleOf": 0.1}] * n}},
        [index / 10 for index in range(n)],
    ),
}


def sizes_and_steps(attack: Attack, levels: int) -> tuple[int, int, int, int]:
    schema, value = attack(levels)
    schema, value = json.loads(json.dumps(schema)), json.loads(json.dumps(value))
    return size(schema), size(value), reading_steps(schema), checking_steps(schema, value)


@pytest.mark.parametrize("levels", [10, 40])
@pytest.mark.parametrize("name", ATTACKS)
def test_a_check_costs_at_most_the_product_of_the_sizes(name: str, levels: int) -> None:
    if "tree" in name:
        levels //= 5  # written out as JSON, such a schema is as large as its tree
    schema, value, reading, checking = sizes_and_steps(ATTACKS[name], levels)
    assert reading <= STEPS_A_PAIR * schema
    assert checking <= STEPS_A_PAIR * schema * value


@pytest.mark.parametrize("name", ATTACKS)
def test_twice_the_input_costs_no_more_than_its_growth(name: str) -> None:
    small, large = (4, 8) if "tree" in name else (20, 40)
    schema, value, reading, checking = sizes_and_steps(ATTACKS[name], small)
    larger_schema, larger_value, more_reading, more_checking = sizes_and_steps(ATTACKS[name], large)
    assert more_reading / reading <= 1.2 * larger_schema / schema
    assert more_checking / checking <= 1.2 * (larger_schema / schema) * (larger_value / value)


def calls_of(work: Callable[[], object]) -> int:
    """How many calls of functions, ours and built-in ones, it makes; of generators, how often each
    is resumed."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize("name", ATTACKS)
def test_a_step_stands_for_no_more_than_a_few_calls(name: str) -> None:
    schema, value = ATTACKS[name](5 if "tree" in name else 40)
    schema, value = json.loads(json.dumps(schema)), json.loads(json.dumps(value))
    read = ToolSchema(schema, Budget(PLENTY))
    budget = Budget(PLENTY)
    assert calls_of(lambda: read.misfit(value, budget)) <= 2.7 * (PLENTY - budget.left) + 20
    assert calls_of(lambda: ToolSchema(schema, budget)) <= 5 * reading_steps(schema) + 20


def test_each_doubling_of_a_reference_costs_the_same() -> None:
    costs = {levels: sizes_and_steps(doubling("allOf"), levels)[3] for levels in (10, 20, 40, 80)}
    assert costs[20] - costs[10] < 500
    assert costs[40] - costs[20] == 2 * (costs[20] - costs[10])
    assert costs[80] - costs[40] == 4 * (costs[20] - costs[10])


def test_one_object_that_is_met_many_times_is_read_once() -> None:
    """In Python, the halves of a tree can be the same object."""
    schema, _ = ATTACKS["a tree of oneOf"](60)
    assert reading_steps(schema) < 60 * 20
    assert checking_steps(schema, "x") < 60 * 40


@pytest.mark.parametrize("name", ATTACKS)
def test_a_check_ends_when_its_steps_are_spent(name: str) -> None:
    schema, value = ATTACKS[name](40)
    for steps in (0, 1, 10, 100, 1000):
        budget = Budget(steps)
        sentence = ToolSchema(schema).misfit(value, budget)
        if budget.left < 0:
            assert "too costly to check" in (sentence or "")
        else:
            assert checking_steps(schema, value) <= steps


def test_a_large_attack_is_cut_short() -> None:
    schema, value = ATTACKS["items with allOf"](300)
    assert checking_steps(schema, value) > 2 * CHECKING_STEPS
    assert "too costly to check" in (misfit(schema, value) or "")


@pytest.mark.parametrize(
    "large",
    [
        lambda: [0] * 50_000,
        lambda: ["x" * 10**8],
        lambda: {str(n): n for n in range(50_000)},
        lambda: [[]] * 50_000,
        lambda: [10**5_000_000],
    ],
    ids=["items", "a text", "members", "arrays", "a number"],
)
def test_a_large_value_is_paid_for_before_it_is_worked_on(large: Callable[[], Any]) -> None:
    value = large()
    assert "too costly to check" in (misfit({}, value) or "")
    table = Table(Budget(CHECKING_STEPS))
    with pytest.raises(TooCostly):
        table.node(value)
    assert len(table.nodes) <= CHECKING_STEPS


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [{} for _ in range(10_000)]},
        {"allOf": [True] * 20_000},
        {"enum": list(range(20_000))},
        {"required": words("x", 20_000)},
        {"properties": dict.fromkeys(words("x", 20_000), True)},
        {"dependentRequired": {"a": words("x", 20_000)}},
        {"allOf": [{"$ref": "#/$defs/a/b/c/d"}] * 5_000, "$defs": {"a": {"b": {"c": {"d": {}}}}}},
    ],
    ids=lambda schema: next(iter(schema)),
)
def test_a_schema_that_is_too_large_is_refused(schema: dict[str, Any]) -> None:
    schema = json.loads(json.dumps(schema))
    assert reading_steps(schema) > READING_STEPS
    with pytest.raises(SchemaFault, match="too large to be checked"):
        ToolSchema(schema)


def test_patterns_cost_no_more_than_other_texts() -> None:
    patterns = {
        f"p{n}": {"type": "string", "pattern": "(a{1,9}|é.*?){1,40}" * 3} for n in range(600)
    }
    titles = {f"p{n}": {"type": "string", "title": "(a{1,9}|é.*?){1,40}" * 3} for n in range(600)}
    extra = reading_steps({"properties": patterns}) - reading_steps({"properties": titles})
    assert 0 <= extra <= 10 * 600


def test_the_division_of_large_numbers_costs_more_than_that_of_small_ones() -> None:
    small = checking_steps({"multipleOf": 7}, 7**2)
    assert checking_steps({"multipleOf": 7**1500}, 7**4500) > 500 + small


def test_a_budget_that_lends_pays_what_was_spent() -> None:
    purse = Budget(100)
    with purse.lend(30) as lent:
        lent.spend(10)
        assert purse.left == 70
    assert purse.left == 90
    with pytest.raises(TooCostly), purse.lend(30) as lent:
        lent.spend(31)
    assert purse.left == 60
    with purse.lend(1000) as lent:
        assert lent.left == 60
