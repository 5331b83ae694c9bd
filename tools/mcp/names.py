"""The name of a server's tool among ours: `server_tool`.

A name belongs to one tool for good. A history holds calls under it, some of which wait for an
approval; so it follows from what is fixed at start, never from which other tools there are now.
"""

import re
from collections.abc import Collection
from hashlib import sha256
from itertools import count

from turnstream.tools.catalogue import NAME

_REFUSED = re.compile(r"[^a-zA-Z0-9_-]+")
MAX_CHARS, SUFFIX_CHARS = 64, 6


def tool_name(server: str, tool: str, servers: Collection[str], taken: Collection[str]) -> str:
    """The plain name, if no model refuses it and it cannot be that of another tool: of a server
    whose name begins ours, or of those `taken` by tools that are not of these servers. Else a name
    with a suffix that follows from both names."""
    plain = f"{server}_{tool}"
    is_ambiguous = any(server.startswith(f"{other}_") for other in servers if other != server)
    if NAME.fullmatch(plain) and plain not in taken and not is_ambiguous:
        return plain
    cleaned = _REFUSED.sub("_", plain)[: MAX_CHARS - SUFFIX_CHARS - 1]
    suffixed = (f"{cleaned}_{_digest(server, tool, attempt)}" for attempt in count())
    return next(name for name in suffixed if name not in taken)


def _digest(*parts: object) -> str:
    text = "\0".join(map(str, parts))
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:SUFFIX_CHARS]
