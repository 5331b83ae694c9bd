"""Tools of MCP servers, as real tools of the catalogue.

https://modelcontextprotocol.io. A server is a command that is run, or an address; a file names them
in the shape that other programs share (`configuration.py`). Nothing here is imported unless such a
file is set.
"""
