"""Arithmetic: `calculator` reads an expression, `multiply` takes two numbers.

Expressions come from a model, so from anybody. Three bounds keep each one cheap: its length, the
kinds of syntax that are evaluated at all, and the size of every intermediate value. The largest
float bounds integers too: beyond it no JSON client has a number for them.
"""

import ast
import math
import operator
import re
import sys
from collections.abc import Callable
from typing import Any

from langchain_core.tools import ToolException
from simpleeval import InvalidExpression, SimpleEval  # type: ignore[import-untyped]

from turnstream.tools.contract import real_tool
from turnstream.tools.numbers import Number

MAX_CHARS = 1000
MAX_VALUE = sys.float_info.max
MAX_BITS = sys.float_info.max_exp
MAX_ROUND_DIGITS = 400
MAX_EXACT = 2**53
"""Up to here a JSON client whose numbers are floats, such as a browser, keeps every integer."""

CONSTANTS = {"pi": math.pi, "e": math.e, "tau": math.tau}
SPELLINGS = str.maketrans(
    {
        "^": "**",
        "\N{MULTIPLICATION SIGN}": "*",
        "\N{MIDDLE DOT}": "*",
        "\N{DOT OPERATOR}": "*",
        "\N{DIVISION SIGN}": "/",
        "\N{MINUS SIGN}": "-",
        "\N{EN DASH}": "-",
    }
)
ALPHABET = re.compile(r"[\w\s.,+\-*/%()]*", re.ASCII)
SYNTAX = (ast.Name, ast.UnaryOp, ast.BinOp, ast.Call)

TOO_BIG = "The value is not finite, or too big: numbers up to about 1.8e308 are handled."


def _checked(value: Any) -> int | float:
    if type(value) not in (int, float):
        raise ToolException("The expression has no real number as its value.")
    if not abs(value) <= MAX_VALUE:
        raise ToolException(TOO_BIG)
    number: int | float = value
    return number


def _bounded(operation: Callable[..., Any]) -> Callable[..., int | float]:
    def run(*operands: Any) -> int | float:
        return _checked(operation(*operands))

    return run


def _power(base: int | float, exponent: int | float) -> Any:
    both_int = isinstance(base, int) and isinstance(exponent, int)
    # |base| >= 2**(bits - 1), so the size is known before the work is done.
    if both_int and (int(base).bit_length() - 1) * exponent > MAX_BITS:
        raise ToolException(TOO_BIG)
    return base**exponent


def _round(value: int | float, digits: int | None = None) -> int | float:
    # round(5, -10**9) would compute 10**10**9.
    if digits is not None and abs(digits) > MAX_ROUND_DIGITS:
        raise ToolException(f"round takes at most {MAX_ROUND_DIGITS} digits.")
    return round(value, digits)


def _literal(node: ast.Constant) -> int | float:
    return _checked(node.value)


OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sqrt": math.sqrt,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "log": math.log,
    "log10": math.log10,
    "exp": math.exp,
    "abs": abs,
    "round": _round,
    "floor": math.floor,
    "ceil": math.ceil,
    "min": min,
    "max": max,
}
USAGE = (
    "Use numbers without thousands separators or units, + - * / // % (modulo) **, parentheses, "
    f"{', '.join(CONSTANTS)}, and {', '.join(FUNCTIONS)}."
)
FAILURES: dict[type[Exception], str] = {
    SyntaxError: f"The expression cannot be read. {USAGE}",
    InvalidExpression: f"The expression uses something that is not arithmetic. {USAGE}",
    TypeError: f"A function got arguments that it does not take. {USAGE}",
    ZeroDivisionError: "Division by zero.",
    OverflowError: TOO_BIG,
    ValueError: "The expression has no real number as its value, as in sqrt(-1) or log(0).",
    RecursionError: "The expression has too many operations. Calculate it in parts.",
    MemoryError: "The expression is nested too deeply. Calculate it in parts.",
}


def _evaluator() -> Any:
    evaluator = SimpleEval(
        operators={kind: _bounded(function) for kind, function in OPERATORS.items()},
        functions={name: _bounded(function) for name, function in FUNCTIONS.items()},
        names=CONSTANTS,
    )
    evaluator.nodes = {kind: evaluator.nodes[kind] for kind in SYNTAX}
    evaluator.nodes[ast.Constant] = _literal
    return evaluator


# Made once: making one swaps the process's warning filters, which threads must not do.
_EVALUATOR = _evaluator()


def evaluate(expression: str) -> int | float:
    """The value of an arithmetic expression. Raises ToolException with a sentence for the model."""
    if len(expression) > MAX_CHARS:
        raise ToolException(
            f"The expression is {len(expression)} characters long, the limit is {MAX_CHARS}. "
            "Calculate it in parts."
        )
    source = " ".join(expression.translate(SPELLINGS).split())
    if not ALPHABET.fullmatch(source):
        raise ToolException(FAILURES[InvalidExpression])
    try:
        return _checked(_EVALUATOR.eval(source, ast.parse(source, mode="eval").body))
    except tuple(FAILURES) as error:
        raise ToolException(_sentence(error)) from error


def _sentence(error: Exception) -> str:
    return next(text for kind, text in FAILURES.items() if isinstance(error, kind))


def _for_client(field: str, value: int | float) -> dict[str, Any]:
    """Return what the client gets in place of an integer that it, or the thread's storage, cannot
    hold."""
    if isinstance(value, float) or abs(value) <= MAX_EXACT:
        return {}
    return {field: float(value), "exact": str(value)}


@real_tool(client_fields=["expression", "value", "exact"], artifact=True)
def calculator(expression: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Calculate the value of an arithmetic expression.

    Knows + - * / // % (modulo) ** and parentheses, the constants pi, e and tau, and the functions
    sqrt, sin, cos, tan (radians), log (natural, or log(x, base)), log10, exp, abs,
    round (round(x, digits), halves to even), floor, ceil, min and max. Integers stay exact.

    Args:
        expression: The expression, such as "17 * 23" or "sqrt(2) / 3".
    """
    value = evaluate(expression)
    return {"expression": expression, "value": value}, _for_client("value", value)


@real_tool(client_fields=["product", "exact"], artifact=True)
def multiply(a: Number, b: Number) -> tuple[dict[str, Any], dict[str, Any]]:
    """Multiply two numbers.

    Args:
        a: The first factor.
        b: The second factor.
    """
    try:
        product = _checked(_checked(a) * _checked(b))
    except OverflowError as error:
        raise ToolException(_sentence(error)) from error
    return {"product": product}, _for_client("product", product)
