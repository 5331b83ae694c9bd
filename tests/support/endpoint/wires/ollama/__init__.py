"""Ollama's /api/chat, https://docs.ollama.com/api/chat.

body    the shape of a request      rules    what is refused of a shapely one
answer  a reply as JSON, a line each
"""
