"""The tests. Their processes import much that stays: rarer collections of garbage than Python's own
save an eighth of their time."""

import gc

gc.set_threshold(50_000, 50, 100)
