"""The reasons for which callers are not recognised, or cannot be."""

from turnstream.server.extensions.base import ExtensionError


class AuthSetupError(ExtensionError):
    """Authentication cannot work as it is set; the message is for whoever starts the server."""


class Unauthenticated(Exception):
    """Nobody, or not who they say: the message is for the log, never for the caller."""


class AuthenticationUnavailable(Exception):
    """Whoever vouches for callers cannot be reached now; the message is for the log."""


class KeyNotAskedFor(AuthenticationUnavailable):
    """A key that the issuer may have published since it was last asked. Nothing was looked at, so
    it counts as no failed login."""
