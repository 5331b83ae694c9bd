"""JSON Schemas that come from elsewhere: a client's tools, a remote server's."""

from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, best_match
from jsonschema.validators import validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

TOP_LEVEL_REFUSED = ("oneOf", "anyOf", "allOf", "not", "enum", "$ref")
"""Keywords that model providers refuse at the top of a tool's schema."""


def fault(schema: Mapping[str, Any]) -> str | None:
    """What keeps a schema from being a tool's `parameters`; None if nothing does."""
    refused = [keyword for keyword in TOP_LEVEL_REFUSED if keyword in schema]
    if schema.get("type") != "object" or refused:
        return (
            'it must be the JSON Schema of an object ("type": "object") without '
            f"{', '.join(TOP_LEVEL_REFUSED)} at the top"
        )
    try:
        validator_for(schema, Draft202012Validator).check_schema(dict(schema))
    except SchemaError as error:
        return f"it is no JSON Schema: {error.message[:300]}"
    return None


def misfit(schema: Mapping[str, Any], value: Any) -> str | None:
    """Where a value does not fit a schema, in a sentence; None if it fits.

    Nothing is fetched: a "$ref" to another address cannot be resolved.
    """
    validator = validator_for(schema, Draft202012Validator)(dict(schema), registry=Registry())
    try:
        problem = best_match(validator.iter_errors(value))
    except Unresolvable as error:
        return f"The tool's schema cannot be resolved at {str(error.ref)[:100]!r}."
    return f"{problem.json_path}: {problem.message[:300]}." if problem else None
