"""The Chromium of this machine, for whatever shows a page."""

import shutil

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser")
"""The first draws no windows: it takes half the time."""
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
INSTALL = "apt install chromium-headless-shell"
