"""The faults of settings, in one line for whoever set them."""

from typing import Any

from pydantic import ValidationError


def faults(error: ValidationError) -> str:
    """Each setting that has a bad value, and what is allowed."""
    return "; ".join(_fault(dict(fault)) for fault in error.errors())


def _fault(fault: dict[str, Any]) -> str:
    if not fault["loc"]:
        return str(fault.get("ctx", {}).get("error", fault["msg"]))
    name = str(fault["loc"][0]).upper()
    prefix = "" if name.startswith("OPENAI_") else "TURNSTREAM_"
    if name == "CONTEXT":  # it may hold secrets
        return f"{prefix}{name}: {fault['msg']}"
    return f"{prefix}{name} cannot be {fault['input']!r}: {fault['msg']}"
