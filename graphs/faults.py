"""Why a graph cannot be served."""


class GraphError(Exception):
    """The setting names no graph that can be served; the message is for the person who starts the
    server, one line. What failed in the user's own code is the cause."""
