"""Chaos: servers under random use while their processes, Redis and connections fail.

`records` is what was seen, `checks` judges it and touches nothing else. The rest makes it happen.
"""
