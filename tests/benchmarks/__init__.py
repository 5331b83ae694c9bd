"""What the server costs, as figures of one run: `make bench`.

Nothing here asserts on time; the figures are for people, and for the README.
"""
