"""How does a screen become a picture?

`png(widgets)` draws what `layout` says is visible, with Pillow's built-in bitmap font, and nothing else: two screens
have the same decoded pixels exactly when they have the same widgets. Drawing alone cannot promise that (a long text
is cut, two icons may look alike), so the lowest two pixel rows are a bar code of the visible widgets. Pixels are the
same on every machine; the bytes of the file also depend on the machine's zlib. Not modelled: anti-aliasing, platform
look, anything that moves.
"""

from __future__ import annotations

import hashlib
import io
from functools import lru_cache

from PIL import Image, ImageDraw, ImageFont

from lasttick_fakes.devices.layout import HEIGHT_PX, WIDTH_PX, Widget

STRIP_PX = 2
"""Height of the bar code at the lower edge; no widget reaches into it."""

_CHAR_W, _CHAR_H = 6, 11
COLOURS: dict[str, tuple[int, int, int]] = {
    "background": (250, 250, 250),
    "ink": (20, 20, 20),
    "label": (250, 250, 249),
    "button": (173, 205, 255),
    "field": (255, 255, 255),
    "focused": (255, 247, 200),
    "switch": (214, 239, 214),
    "icon": (226, 214, 250),
    "list": (240, 240, 240),
    "row": (232, 238, 242),
}
"""What each kind of widget is filled with (RGB). Every widget has an outline in ink along its bounds."""

_INDEX = {name: n for n, name in enumerate(COLOURS)}


@lru_cache(maxsize=512)
def png(widgets: tuple[Widget, ...]) -> bytes:
    """The screen as a PNG file, 180 x 324 px, palette colours."""
    image = Image.new("P", (WIDTH_PX, HEIGHT_PX), _INDEX["background"])
    image.putpalette([channel for colour in COLOURS.values() for channel in colour])
    pen = ImageDraw.Draw(image)
    for widget in widgets:
        _draw(pen, widget)
    _draw_strip(pen, widgets)
    file = io.BytesIO()
    image.save(file, "PNG", compress_level=1)
    return file.getvalue()


def _draw(pen: ImageDraw.ImageDraw, widget: Widget) -> None:
    x1, y1, x2, y2 = widget.bounds
    fill = "focused" if widget.focused else widget.kind
    pen.rectangle((x1, y1, x2 - 1, y2 - 1), fill=_INDEX[fill], outline=_INDEX["ink"])
    if widget.icon:
        _draw_icon(pen, widget)
    fits = (x2 - x1 - 8) // _CHAR_W
    # A field shows its end, where the cursor is; everything else shows its beginning.
    text = widget.text[-fits:] if widget.kind == "field" else widget.text[:fits]
    left, top = x1 + 4, y2 - _CHAR_H - 3 if widget.icon else (y1 + y2 - _CHAR_H) // 2
    _draw_text(pen, left, top, text)
    if widget.focused:
        cursor = left + _CHAR_W * len(text)
        pen.line((cursor, y1 + 4, cursor, y2 - 5), fill=_INDEX["ink"])
    for child in widget.children:
        _draw(pen, child)


def _draw_text(pen: ImageDraw.ImageDraw, left: int, top: int, text: str) -> None:
    """Printable ASCII as letters; any other as the bits of its code point: no font has them all."""
    for n, char in enumerate(text):
        x = left + _CHAR_W * n
        if " " <= char <= "~":
            pen.text((x, top), char, font=_font(), fill=_INDEX["ink"])
            continue
        for bit in range(21):
            if ord(char) >> bit & 1:
                pen.point((x + bit % 5, top + 2 * (bit // 5)), fill=_INDEX["ink"])


def _draw_icon(pen: ImageDraw.ImageDraw, widget: Widget) -> None:
    """A 5 x 5 mosaic drawn from the icon's name."""
    x1, y1, x2, y2 = widget.bounds
    room = min(x2 - x1, y2 - y1 - (_CHAR_H + 3 if widget.text else 0))
    cell = max(1, (room - 8) // 5)
    left, top = (x1 + x2 - 5 * cell) // 2, y1 + (room - 5 * cell) // 2
    bits = int.from_bytes(hashlib.sha256(widget.icon.encode()).digest()[:4], "big")
    for n in range(25):
        if bits >> n & 1:
            x, y = left + cell * (n % 5), top + cell * (n // 5)
            pen.rectangle((x, y, x + cell - 1, y + cell - 1), fill=_INDEX["ink"])


def _draw_strip(pen: ImageDraw.ImageDraw, widgets: tuple[Widget, ...]) -> None:
    bits = int.from_bytes(hashlib.sha256(repr(_shown(widgets)).encode()).digest(), "big")
    for x in range(WIDTH_PX):
        if bits >> x & 1:
            pen.line((x, HEIGHT_PX - STRIP_PX, x, HEIGHT_PX - 1), fill=_INDEX["ink"])


def _shown(widgets: tuple[Widget, ...]) -> list[object]:
    return [(w.id, w.text, w.icon, w.bounds, w.focused, _shown(w.children)) for w in widgets]


@lru_cache(maxsize=1)
def _font() -> ImageFont.ImageFont:
    """The font inside Pillow: the same bits everywhere, no file, no FreeType."""
    font = ImageFont.load_default_imagefont()
    assert isinstance(font, ImageFont.ImageFont)
    return font
