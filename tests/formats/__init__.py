"""The wire formats: requests to values, chunks to bytes, and back by strict readers."""
