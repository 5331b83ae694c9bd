"""Serves a LangGraph graph to browsers: turns streamed as Server-Sent Events."""

__version__ = "0.1.0"
