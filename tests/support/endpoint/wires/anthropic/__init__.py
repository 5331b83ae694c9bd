"""Anthropic's Messages API, https://docs.claude.com/en/api/messages.

body    the shape of a request      rules    what the API refuses of a shapely one
answer  a reply as events
"""
