"""What the signature of a function call is of."""

import json
import re
from collections.abc import Mapping
from typing import Any

from tests.support.endpoint.wires.gemini.body import NAME


def call_text(name: str, args: Mapping[str, Any]) -> str:
    """A name that Gemini would not take back is signed as none: a client must change it."""
    kept = name if re.match(NAME, name) else ""
    return f"{kept} {json.dumps(args, sort_keys=True)}"


def call_texts(name: str, args: Mapping[str, Any]) -> tuple[str, str]:
    """What a call that comes back may have been signed as."""
    return call_text(name, args), call_text("", args)
