class MetricsSetupError(Exception):
    """Metrics cannot be served as it is set; the message is for whoever starts the server."""
