"""The page and the server agree on which characters are not seen."""

import json
import shutil
import subprocess
import sys
import unicodedata

import pytest

from tests.page.conftest import MODULES, NO_NODE
from turnstream.server.storage.titles import one_line

NODE = shutil.which("node")
SCRIPT = """
import { visible } from "./static/js/unseen.js";
const unseen = [];
for (let point = 0; point <= 0x10ffff; point += 1) {
  if (/\\p{Cn}/u.test(String.fromCodePoint(point))) continue;
  const text = `a${String.fromCodePoint(point)}b`;
  if (visible(text) !== text) unseen.push(point);
}
console.log(JSON.stringify(unseen));
"""


@pytest.mark.skipif(NODE is None, reason=NO_NODE)
def test_titles_are_without_the_characters_that_the_page_shows_as_escapes() -> None:
    assert NODE is not None
    done = subprocess.run(
        [NODE, "--import", MODULES.as_uri(), "--input-type=module", "--eval", SCRIPT],
        cwd=MODULES.parent.parent.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    escaped = set(json.loads(done.stdout))
    kept = set(one_line("a".join(map(chr, range(sys.maxunicode + 1)))))
    left_out = {point for point in range(sys.maxunicode + 1) if chr(point) not in kept}
    whitespace = {point for point in left_out if chr(point).isspace()}
    known = {point for point in left_out if unicodedata.category(chr(point)) != "Cn"}
    assert escaped - left_out == set()
    assert known - escaped - whitespace == set()
