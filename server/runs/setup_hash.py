"""A short name for what the model is told before a thread, to tell runs before and after a change
apart."""

import hashlib

from turnstream.tools.catalogue import Catalogue

LENGTH = 12
"""Hex digits."""


def setup_hash(system_prompt: str, catalogue: Catalogue) -> str:
    """The same for the same system prompt and tool schemas, in every process.

    What one run adds or leaves out, client tools and the caller's rights, does not count.
    """
    told = f"{catalogue.digest}\n{system_prompt}"
    return hashlib.sha256(told.encode(errors="surrogatepass")).hexdigest()[:LENGTH]
