"""Small images of a given size, and as much of others as says how large they are."""

import base64
import zlib
from collections.abc import Sequence
from random import Random
from struct import pack

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def _chunk(name: bytes, data: bytes) -> bytes:
    return pack(">I", len(data)) + name + data + pack(">I", zlib.crc32(name + data))


def png(width: int, height: int, colour: tuple[int, int, int] = (200, 30, 30)) -> bytes:
    """A whole image, in one colour."""
    return _png(width, height, [bytes(colour) * width] * height)


def noisy_png(width: int, height: int) -> bytes:
    """A whole image of random pixels: 3 bytes each, which nothing makes smaller."""
    noise = Random(0)
    return _png(width, height, [noise.randbytes(3 * width) for _ in range(height)])


def _png(width: int, height: int, rows: Sequence[bytes]) -> bytes:
    return b"".join(
        (
            PNG_SIGNATURE,
            _chunk(b"IHDR", pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
            _chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row for row in rows))),
            _chunk(b"IEND", b""),
        )
    )


def gif(width: int, height: int) -> bytes:
    """A whole image, in black."""
    head = b"GIF89a" + pack("<HHBBB", width, height, 0x80, 0, 0) + bytes(6)
    frame = b"," + pack("<HHHHB", 0, 0, width, height, 0)
    return head + frame + b"\x02\x02\x44\x01\x00;"


def jpeg_head(width: int, height: int, *, before: bytes = b"") -> bytes:
    """The beginning, with these segments before the size."""
    return b"\xff\xd8" + before + b"\xff\xc0\x00\x11\x08" + pack(">HH", height, width) + b"\x03"


def webp_head(width: int, height: int, kind: str) -> bytes:
    size = {
        "VP8 ": b"\0" * 6 + pack("<HH", width, height),
        "VP8L": b"\x2f" + pack("<I", (width - 1) | (height - 1) << 14),
        "VP8X": b"\0" * 4 + pack("<I", width - 1)[:3] + pack("<I", height - 1)[:3],
    }[kind]
    return b"RIFF\0\0\0\0WEBP" + kind.encode() + pack("<I", len(size)) + size


def data_url(data: bytes, kind: str = "png") -> str:
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"
