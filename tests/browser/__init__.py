"""The page in a real browser, against the real server.

site         a page that keeps account of its errors     shows        what tests look for
conftest     Chromium, servers, visits
"""
