"""The cost of the server, as figures of one run: `make bench`.

Nothing here asserts on time; the figures are for people, and for docs/benchmarks.md.
"""
