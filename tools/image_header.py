"""The first bytes of an image: its kind, and its number of pixels.

Layouts: PNG (2003), 11.2.2; GIF89a, 18; JPEG (ITU-T T.81), B.1.1.3 and B.2.2; WebP (RFC 9649), 2.
"""

from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["png", "jpeg", "gif", "webp"]
Size = tuple[int, int]
"""Width and height, in pixels, as they are stored: a JPEG may be turned when it is shown."""

_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG = b"\xff\xd8\xff"
_HEAD_CHARS = 262_144
"""Characters of base64 that are looked at: more seldom stands before a photograph's size."""
_MAX_SEGMENTS = 1000
"""Segments of a JPEG that are passed over, fill bytes too."""
_NO_FRAMES = (0xC4, 0xC8, 0xCC)
"""Markers among those of frames (SOF0 to SOF15) that are none."""


@dataclass(frozen=True, slots=True)
class ImageHeader:
    kind: Kind
    size: Size | None
    """None: it was cut off before that, or is broken."""


def image_header(data: bytes) -> ImageHeader | None:
    """None if it is none of these kinds."""
    if data.startswith(_PNG):
        return ImageHeader("png", _positive(_png_size(data)))
    if data.startswith(_JPEG):
        return ImageHeader("jpeg", _positive(_jpeg_size(data)))
    if data.startswith((b"GIF87a", b"GIF89a")):
        return ImageHeader("gif", _positive(_little(data, 6, 8)))
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return ImageHeader("webp", _positive(_webp_size(data)))
    return None


def header_of_url(url: str) -> ImageHeader | None:
    """Return the header of the image in a `data:` URL of base64; None of any other URL."""
    head, comma, text = url.partition(",")
    if not (comma and head.startswith("data:") and head.endswith(";base64")):
        return None
    start = text[:_HEAD_CHARS]
    try:
        return image_header(a2b_base64(start[: len(start) // 4 * 4]))
    except (Base64Error, ValueError):
        return None


def _positive(size: Size | None) -> Size | None:
    return size if size and min(size) > 0 else None


def _png_size(data: bytes) -> Size | None:
    if data[12:16] != b"IHDR" or len(data) < 24:
        return None
    return int.from_bytes(data[16:20]), int.from_bytes(data[20:24])


def _little(data: bytes, *places: int, length: int = 2, mask: int = 0xFFFF, more: int = 0) -> Size:
    """Two numbers of so many bytes, the lowest byte first; zeros where the data ends before."""
    width, height = (
        (int.from_bytes(data[place : place + length], "little") & mask) + more
        if len(data) >= place + length
        else 0
        for place in places
    )
    return width, height


def _jpeg_size(data: bytes) -> Size | None:
    place = 2
    for _ in range(_MAX_SEGMENTS):
        if place + 9 > len(data) or data[place] != 0xFF:
            return None
        marker = data[place + 1]
        if marker == 0xFF:  # a fill byte
            place += 1
        elif 0xC0 <= marker <= 0xCF and marker not in _NO_FRAMES:
            height, width = data[place + 5 : place + 7], data[place + 7 : place + 9]
            return int.from_bytes(width), int.from_bytes(height)
        else:
            place += 2 + max(2, int.from_bytes(data[place + 2 : place + 4]))
    return None


def _lossless_size(data: bytes) -> Size | None:
    """Two numbers of 14 bits, each one less than what is meant."""
    if len(data) < 25 or data[20] != 0x2F:
        return None
    bits = int.from_bytes(data[21:25], "little")
    return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1


_WEBP: Mapping[bytes, Callable[[bytes], Size | None]] = {
    b"VP8 ": lambda data: _little(data, 26, 28, mask=0x3FFF),
    b"VP8L": _lossless_size,
    b"VP8X": lambda data: _little(data, 24, 27, length=3, mask=0xFFFFFF, more=1),
}
"""By the first chunk."""


def _webp_size(data: bytes) -> Size | None:
    read = _WEBP.get(data[12:16])
    return read(data) if read else None
