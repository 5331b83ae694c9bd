"""What several workers share through Redis or Valkey: the logs of runs, and messages.

The only package that imports the Redis client. One process alone imports none of it.
"""
