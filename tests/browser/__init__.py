"""The page in a real browser, against the real server.

site         a page that keeps account of its errors
conftest     Chromium, servers, visits
"""
