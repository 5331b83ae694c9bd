class TracesSetupError(Exception):
    """Traces cannot be made as it is set; the message is for whoever starts the server."""
