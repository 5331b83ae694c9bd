"""The page as its deployer wants it, by a file of theirs."""


class PageError(Exception):
    """The page's file cannot be used; the message is for the person who starts the server."""
