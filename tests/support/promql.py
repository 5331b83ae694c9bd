"""A small parser of PromQL: the part of it that docs/deploy uses."""

import re
from dataclasses import dataclass, field

AGGREGATIONS = ("sum", "count", "max", "min", "avg")
FUNCTIONS = ("rate", "increase", "histogram_quantile", "label_values")
_TOKEN = re.compile(
    r'\s*+(?:(?P<duration>\d++[smhd])|(?P<number>\d++(?:\.\d++)?+(?:e\d++)?+)|(?P<string>"[^"]*+")'
    r"|(?P<name>[a-zA-Z_$][\w:]*+)|(?P<sign>=~|!~|!=|==|>=|<=|[-+*/(){}\[\],=<>])|(?P<end>$))"
)
COMPARED = ("==", "!=", ">", "<", ">=", "<=", "+", "-", "*", "/")
MATCHED = ("=", "!=", "=~", "!~")


@dataclass
class Expression:
    """Parses on creation. Raises ValueError."""

    text: str
    labels: dict[str, set[str]] = field(default_factory=dict)
    """The labels that the expression names, by the metric."""
    values: list[tuple[str, str]] = field(default_factory=list)
    """The labels that are matched, with what they are matched with."""
    _at: int = 0
    _kind: str = ""
    _token: str = ""

    def __post_init__(self) -> None:
        self._next()
        self._sum()
        if self._kind != "end":
            raise self._error()

    def _error(self) -> ValueError:
        return ValueError(f"{self.text!r} cannot be read at {self.text[self._at :]!r}")

    def _next(self) -> str:
        """Return the current token, and read the next one."""
        before = self._token
        found = _TOKEN.match(self.text, self._at)
        if not found:
            raise self._error()
        self._kind = str(found.lastgroup)
        self._token, self._at = found[self._kind], found.end()
        return before

    def _take(self, *signs: str) -> None:
        for sign in signs:
            if self._token != sign:
                raise self._error()
            self._next()

    def _sum(self) -> set[str]:
        """Read operands and operators; return the metrics among them."""
        metrics = self._operand()
        while self._token in COMPARED:
            self._next()
            metrics |= self._operand()
        return metrics

    def _operand(self) -> set[str]:
        if self._kind == "number":
            self._next()
            return set()
        if self._token == "(":
            self._next()
            metrics = self._sum()
            self._take(")")
            return metrics
        if self._kind != "name":
            raise self._error()
        name = self._next()
        if name in AGGREGATIONS:
            by = self._names() if self._token == "by" and self._next() else ()
            metrics = self._arguments()
            for metric in metrics:
                self.labels[metric].update(by)
            return metrics
        return self._arguments() if name in FUNCTIONS else self._selector(name)

    def _arguments(self) -> set[str]:
        self._take("(")
        metrics = self._sum()
        while self._token == ",":
            self._next()
            metrics |= self._sum()
        self._take(")")
        return metrics

    def _names(self) -> list[str]:
        self._take("(")
        names = [self._next()]
        while self._token == ",":
            self._next()
            names.append(self._next())
        self._take(")")
        return names

    def _selector(self, metric: str) -> set[str]:
        labels = self.labels.setdefault(metric, set())
        if self._token == "{":
            while self._token in ("{", ","):
                self._next()
                label, sign, value = self._next(), self._next(), self._next()
                if sign not in MATCHED or not value.startswith('"'):
                    raise self._error()
                labels.add(label)
                self.values.append((label, value.strip('"')))
            self._take("}")
        if self._token == "[":
            self._next()
            if self._kind != "duration" and self._token != "$__rate_interval":
                raise self._error()
            self._next()
            self._take("]")
        return {metric}
