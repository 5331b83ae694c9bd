"""Arithmetic, in signs or in words, for `calculator` and `multiply`."""

import ast

from turnstream.graphs.offline.ask import NUMBER, Ask, Facts, any_case, number

MAX_CHARS = 500
"""Characters of an expression. A longer text is none."""

_SIGNED = rf"(-?{NUMBER})"
_IN_SIGNS = tuple(
    (any_case(pattern), signs)
    for pattern, signs in (
        (r"\d{4}-\d{2}-\d{2}", ""),  # a date is no subtraction
        (rf"\bmultiply {_SIGNED} (?:by|with|and|times) {_SIGNED}", r"\1 * \2"),
        (rf"\badd {_SIGNED} (?:to|and) {_SIGNED}", r"\2 + \1"),
        (rf"\bsubtract {_SIGNED} from {_SIGNED}", r"\2 - \1"),
        (rf"\bdivide {_SIGNED} by {_SIGNED}", r"\1 / \2"),
        (rf"({NUMBER})\s*+(?:%|percent) of {_SIGNED}", r"\1 / 100 * \2"),
        (rf"\b(?:the )?square root of ({NUMBER})", r"sqrt(\1)"),
        (rf"\bsquare ({NUMBER})", r"\1 ^ 2"),
        (rf"({NUMBER}) squared\b", r"\1 ^ 2"),
        (rf"({NUMBER}) cubed\b", r"\1 ^ 3"),
        (r"\bplus\b", "+"),
        (r"\bminus\b|\N{MINUS SIGN}", "-"),
        (r"\b(?:times|multiplied by)\b|\u00d7|(?<=[\d)])\s*+x\s*+(?=[\d(])", " * "),
        (r"\bdivided by\b|\u00f7", "/"),
        (r"\bto the power of\b", "^"),
    )
)
_FUNCTION = r"\b(?:sqrt|sin|cos|tan|log10|log|exp|abs|round|floor|ceil|min|max)"
_TOKEN = rf"(?:{_FUNCTION}\((?:[^(),]*+,[^()]*+\))?+|\b(?:pi|tau)\b|{NUMBER}|\*\*?+|[-+/%^()])"
_EXPRESSION = any_case(rf"(?<![\w.,-])(?:{_TOKEN}\s*+)*{_TOKEN}(?![\w.]\w)")
_PRODUCT = any_case(rf"{_SIGNED} \* {_SIGNED}")
_TIMES = any_case(r"\b(?:multiply|times|multiplied)\b")
_CUE = any_case(
    r"=|% of|\b(?:what|calculate|compute|evaluate|solve|work out|how much|add|subtract|divide"
    r"|multiply|times|multiplied|plus|minus|squared?|cubed|percent of)\b"
)


def arithmetic(clause: str, _: Facts) -> list[Ask]:
    signs = clause
    for pattern, replacement in _IN_SIGNS:
        signs = pattern.sub(replacement, signs)
    found = [" ".join(match[0].split()) for match in _EXPRESSION.finditer(signs)]
    if not _CUE.search(clause) and found != [" ".join(signs.strip(" .?!").split())]:
        return []
    in_words = bool(_TIMES.search(clause))
    return [_ask(expression, in_words) for expression in found if _has_work(expression)]


def _ask(expression: str, in_words: bool) -> Ask:
    product = _PRODUCT.fullmatch(expression)
    if product and in_words:
        return Ask("multiply", {"a": number(product[1]), "b": number(product[2])})
    return Ask("calculator", {"expression": expression})


def _has_work(expression: str) -> bool:
    """It can be read, and there is something to work out."""
    if len(expression) > MAX_CHARS:
        return False
    try:
        tree = ast.parse(expression.replace("^", "**"), mode="eval")
    except SyntaxError:
        return False
    return any(isinstance(node, (ast.BinOp, ast.Call)) for node in ast.walk(tree))
