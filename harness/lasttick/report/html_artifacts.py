"""What did the scenario leave behind? Its pictures, inside the page, and links to the rest."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from lasttick.evidence import ScenarioResult
from lasttick.report.html_text import Html, tag

POLICY = "; img-src data:"
PICTURE_BYTES_MAX = 1_000_000
PICTURES_MAX = 12
"""In the whole page: it stays one that can be sent to somebody."""
PNG = b"\x89PNG\r\n\x1a\n"


def shown(results: Sequence[ScenarioResult]) -> frozenset[str]:
    """The pictures that the page holds: the first ones."""
    names = [name for result in results for name in result.artifacts if name.endswith(".png")]
    return frozenset(names[:PICTURES_MAX])


def artifacts_html(folder: Path, result: ScenarioResult, pictures: frozenset[str]) -> Html | None:
    """The scenario's files. A picture that is gone, too large or none is only named."""
    if not result.artifacts:
        return None
    return tag("div", *[_one(folder, name, name in pictures) for name in result.artifacts], class_="artifacts")


def _one(folder: Path, name: str, draw: bool) -> Html:
    parts = PurePosixPath(name)
    leads_out = parts.is_absolute() or ".." in parts.parts
    data = _picture(folder / name) if draw and not leads_out else None
    link = parts.name if leads_out else tag("a", parts.name, href=name)
    if data is None:
        return tag("p", link, class_="soft small")
    source = "data:image/png;base64," + base64.b64encode(data).decode("ascii")
    return tag("figure", tag("figcaption", link), tag("img", src=source, alt=parts.stem, style="max-width:100%"))


def _picture(path: Path) -> bytes | None:
    try:
        data = path.read_bytes() if path.stat().st_size <= PICTURE_BYTES_MAX else b""
    except OSError:
        return None
    return data if data.startswith(PNG) else None
