"""Real tools against the solar data set, and in processes with bounded time and memory."""
