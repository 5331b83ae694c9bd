"""calculator and multiply: right, exact, and never stuck."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.tools import ToolException
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pydantic import ValidationError

from tests.support.tool_invocation import (
    call,
    for_client,
    for_model,
    refusal,
)
from turnstream.tools.calculator import (
    CONSTANTS,
    FUNCTIONS,
    MAX_CHARS,
    calculator,
    evaluate,
    multiply,
)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("17 * 23", 391),
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("-2 ** 2", -4),
        ("2 ** -1", 0.5),
        ("7 / 2", 3.5),
        ("7 // 2", 3),
        ("-7 % 3", 2),
        ("+3 - -3", 6),
        ("2^10", 1024),
        ("6 \N{MULTIPLICATION SIGN} 7", 42),
        ("6 · 7", 42),
        ("84 ÷ 2", 42),
        ("44 \N{MINUS SIGN} 2", 42),
        ("  1 +\n 1 ", 2),
        ("1_000 + 1", 1001),
        ("sqrt(16)", 4),
        ("sin(0) + cos(0) + tan(0)", 1),
        ("log(e)", 1),
        ("log(8, 2)", 3),
        ("log10(1000)", 3),
        ("exp(0)", 1),
        ("abs(-3)", 3),
        ("round(2.567, 2)", 2.57),
        ("round(1234, -2)", 1200),
        ("round(2.5)", 2),
        ("floor(2.7) + ceil(2.2)", 5),
        ("min(3, 1, 2) + max(3, 1, 2)", 4),
        ("tau / pi", 2),
        ("0.5 ** 10**300", 0),
        ("(-1) ** 10**300", 1),
    ],
)
def test_an_expression_has_its_value(expression: str, value: float) -> None:
    assert for_model(calculator, expression=expression) == {
        "expression": expression,
        "value": pytest.approx(value),
    }


@pytest.mark.parametrize("expression", ["17 * 23", "floor(7 / 2)", "2 ** 53", "abs(-3)"])
def test_integers_stay_integers(expression: str) -> None:
    assert isinstance(evaluate(expression), int)


def test_the_model_reads_a_large_integer_to_its_last_digit() -> None:
    assert for_model(calculator, expression="3**100")["value"] == 3**100
    assert for_model(multiply, a=3**60, b=3**40) == {"product": 3**100}


def test_the_client_gets_a_large_integer_as_digits_beside_the_nearest_number() -> None:
    assert for_client(calculator, expression="3**100") == {
        "expression": "3**100",
        "value": float(3**100),
        "exact": str(3**100),
    }
    assert for_client(multiply, a=-(3**60), b=3**40) == {
        "product": float(-(3**100)),
        "exact": str(-(3**100)),
    }


def test_the_client_gets_digits_only_when_a_browser_would_lose_some() -> None:
    assert for_client(calculator, expression="2**53") == {"expression": "2**53", "value": 2**53}
    assert for_client(calculator, expression="2**53 + 1")["exact"] == str(2**53 + 1)
    assert for_client(multiply, a=2.0**600, b=2) == {"product": 2.0**601}


def test_the_result_of_a_large_integer_can_be_saved_in_a_checkpoint() -> None:
    serializer = JsonPlusSerializer()
    message = call(calculator, expression="2**1000")
    saved = serializer.loads_typed(serializer.dumps_typed(message))
    assert saved.artifact == message.artifact


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("1 / 0", "Division by zero"),
        ("1 // 0", "Division by zero"),
        ("1 % 0", "Division by zero"),
        ("0 ** -1", "Division by zero"),
        ("log(8, 1)", "Division by zero"),
        ("sqrt(-1)", "no real number"),
        ("(-8) ** 0.5", "no real number"),
        ("log(0)", "no real number"),
        ("2**1024", "too big"),
        ("1e308 * 10", "too big"),
        ("exp(1000)", "too big"),
        ("1,000", "thousands separators"),
        ("10%", "modulo"),
        ("2 +", "cannot be read"),
        ("sin(1, 2)", "arguments"),
        ("max(1)", "arguments"),
        ("'a' * 3", "not arithmetic"),
        ("1\0", "not arithmetic"),
        ("sinus(1)", "sqrt, sin, cos"),
        ("x + 1", "pi, e, tau"),
        ("1" * (MAX_CHARS + 1), str(MAX_CHARS)),
        ("1+" * 499 + "1", "in parts"),
    ],
)
def test_a_refusal_says_why(expression: str, said: str) -> None:
    assert said in refusal(calculator, expression=expression)


@given(st.text(alphabet="0123456789.+-*/%^() e,sqrtminlog", max_size=40))
def test_any_expression_has_a_finite_real_value_or_is_refused(expression: str) -> None:
    try:
        value = evaluate(expression)
    except ToolException:
        return
    assert type(value) in (int, float)
    assert math.isfinite(value)


def test_the_model_is_told_every_function_and_constant() -> None:
    for name in (*FUNCTIONS, *CONSTANTS):
        assert name in calculator.description


@pytest.mark.parametrize(
    ("a", "b", "product"), [(17, 23, 391), (1.5, 4, 6.0), (-2, 0.5, -1.0), (0, 10**300, 0)]
)
def test_multiply_gives_the_product(a: float, b: float, product: float) -> None:
    result = for_model(multiply, a=a, b=b)["product"]
    assert result == product
    assert type(result) is type(product)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1e308, 10),
        (10**300, 10**300),
        (10**400, 0),
        (math.inf, 1),
        (math.nan, 1),
        (0, math.inf),
        (10**308, 1e308),
    ],
)
def test_multiply_refuses_what_is_not_finite(a: float, b: float) -> None:
    assert "not finite, or too big" in refusal(multiply, a=a, b=b)


@pytest.mark.parametrize("a", ["17", True, None, [1], {}])
def test_multiply_takes_only_numbers(a: Any) -> None:
    with pytest.raises(ValidationError):
        call(multiply, a=a, b=1)
