"""What an image's first bytes say: kinds, sizes, and whatever is cut off or no image."""

from random import Random

import pytest

from tests.support.pictures import data_url, gif, jpeg_head, png, webp_head
from turnstream.tools.image_header import ImageHeader, Kind, header_of_url, image_header

EXIF = b"\xff\xe1\x00\x08Exif\0\0"

SIZED: list[tuple[bytes, Kind]] = [
    (png(640, 480), "png"),
    (gif(640, 480), "gif"),
    (jpeg_head(640, 480, before=EXIF), "jpeg"),
    (jpeg_head(640, 480, before=EXIF + b"\xff" + EXIF + b"\xff\xc4\x00\x04\0\0"), "jpeg"),
    *((webp_head(640, 480, kind), "webp") for kind in ("VP8 ", "VP8L", "VP8X")),
]


@pytest.mark.parametrize(("data", "kind"), SIZED)
def test_kind_and_size_are_read_of_each_kind(data: bytes, kind: Kind) -> None:
    assert image_header(data) == ImageHeader(kind, (640, 480))


@pytest.mark.parametrize(("data", "kind"), SIZED)
def test_an_image_that_is_cut_off_has_its_kind_and_perhaps_its_size(
    data: bytes, kind: Kind
) -> None:
    for end in range(12, len(data)):
        header = image_header(data[:end])
        assert header is not None
        assert (header.kind, header.size in (None, (640, 480))) == (kind, True)


@pytest.mark.parametrize(
    "data", [b"", b"\x89PNG", b"<svg/>", b"RIFF\0\0\0\0WAVEfmt ", b"BM", b"%PDF-1.7", b"\xff\xd8"]
)
def test_anything_else_is_no_image(data: bytes) -> None:
    assert image_header(data) is None


def test_an_image_without_pixels_has_no_size() -> None:
    assert image_header(png(0, 480)) == ImageHeader("png", None)
    assert image_header(gif(0, 0)) == ImageHeader("gif", None)


def test_a_jpeg_that_never_comes_to_its_size_is_given_up() -> None:
    fill = jpeg_head(640, 480, before=b"\xff" * 2000)
    empty = jpeg_head(640, 480, before=b"\xff\xe0\x00\x02" * 2000)
    assert image_header(fill) == image_header(empty) == ImageHeader("jpeg", None)


def test_no_bytes_behind_a_signature_break_the_reading() -> None:
    random = Random(7)
    for data, _ in SIZED:
        for _ in range(200):
            broken = bytearray(data[:64])
            for _ in range(4):
                place = random.randrange(3, len(broken))
                broken[place] = random.randrange(256)
            image_header(bytes(broken))


def test_the_header_of_an_address_is_that_of_its_data() -> None:
    assert header_of_url(data_url(png(3, 5))) == ImageHeader("png", (3, 5))
    for url in (
        "https://a.org/b.png",
        "data:image/png,AAAA",
        "data:image/png;base64,%%%%",
        "data:",
    ):
        assert header_of_url(url) is None
