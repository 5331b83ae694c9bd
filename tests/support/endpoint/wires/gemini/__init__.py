"""Gemini's streamGenerateContent, https://ai.google.dev/api/generate-content.

body    the shape of a request      rules    what the API refuses of a shapely one
schema  that of a tool's parameters answer   a reply as server-sent events
sealed  what a signature is of
"""
