"""JSON Schemas that come from elsewhere: a client's tools, a remote server's."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, best_match
from jsonschema.validators import extend
from referencing import Registry
from referencing.exceptions import Unresolvable

TOP_LEVEL_REFUSED = ("oneOf", "anyOf", "allOf", "not", "enum", "$ref")
"""Keywords that model providers refuse at the top of a tool's schema."""


MAX_DEPTH_SENTENCE = "The tool's schema, or the value, is nested too deep to be checked."


def _unchecked(*_: Any) -> Iterator[Any]:
    yield from ()


_Validator: Any = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator, dict.fromkeys(("pattern", "uniqueItems"), _unchecked)
)
"""Of a foreign schema two keywords are left to the client: a pattern or a long array could take
minutes, in which no other run would get on."""


def fault(schema: Mapping[str, Any]) -> str | None:
    """What keeps a schema from being a tool's `parameters`; None if nothing does."""
    refused = [keyword for keyword in TOP_LEVEL_REFUSED if keyword in schema]
    if schema.get("type") != "object" or refused:
        return (
            'it must be the JSON Schema of an object ("type": "object") without '
            f"{', '.join(TOP_LEVEL_REFUSED)} at the top"
        )
    try:
        if '"patternProperties"' in json.dumps(schema):
            return "patternProperties is not supported: name the properties"
        _Validator.check_schema(dict(schema))
    except SchemaError as error:
        return f"it is no JSON Schema: {error.message[:300]}"
    except (RecursionError, ValueError):
        return "it is no JSON Schema, or nested too deep"
    return None


def misfit(schema: Mapping[str, Any], value: Any) -> str | None:
    """Where a value does not fit a schema, in a sentence; None if it fits.

    Nothing is fetched: a "$ref" to another address cannot be resolved.
    """
    validator = _Validator(dict(schema), registry=Registry())
    try:
        problem = best_match(validator.iter_errors(value))
    except Unresolvable as error:
        return f"The tool's schema cannot be resolved at {str(error.ref)[:100]!r}."
    except RecursionError:
        return MAX_DEPTH_SENTENCE
    return f"{problem.json_path}: {problem.message[:300]}." if problem else None
