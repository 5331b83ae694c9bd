"""A server under a mix of use for long: does anything grow that should not?"""
