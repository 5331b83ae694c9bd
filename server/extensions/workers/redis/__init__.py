"""The logs of runs and the messages that several workers share through Redis or Valkey.

The only package that imports the Redis client. One process alone imports none of it.
"""
