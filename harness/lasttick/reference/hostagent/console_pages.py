"""What does a person see? Two pages and their parts, all from this package, under headers that let nothing else in.

The board is written into the page as the host stands, for browsers without scripts; `console.js` then keeps it up to
date. Whatever is a device's or the cloud's text is escaped here and `textContent` there.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from starlette.responses import HTMLResponse, Response

FOLDER = Path(__file__).parent / "console_page"
PARTS = {
    "/console.css": "text/css; charset=utf-8",
    "/console.js": "text/javascript; charset=utf-8",
    "/console.svg": "image/svg+xml",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    # Not no-referrer: browsers then send `Origin: null` with our own forms, and the origin is what we go by.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
OWNERS = {"mcp": "MCP", "cloud": "cloud"}
PLATFORMS = {"android": "Android", "ios": "iOS"}


def part(path: str) -> Response:
    """A style sheet, script or picture of the pages."""
    return Response(_read(path.lstrip("/")), headers={"content-type": PARTS[path]})


def login_page(status: int = 200, message: str = "") -> HTMLResponse:
    """The form; `message` says what was wrong with the last try."""
    said = f'<p class="alert" id="problem" role="alert">{escape(message)}</p>' if message else ""
    described = ' aria-invalid="true" aria-describedby="problem"' if message else ""
    return HTMLResponse(_filled("login.html", message=said, described=described), status)


def problem_page(status: int, title: str, message: str) -> HTMLResponse:
    """What to show who sent a form that is refused."""
    return HTMLResponse(_filled("problem.html", title=escape(title), message=escape(message)), status)


def dashboard(shown: Mapping[str, Any]) -> HTMLResponse:
    """The board as it stands: `shown` is the object of `/api/status`."""
    leases = shown["mcp_busy_devices"]
    return HTMLResponse(
        _filled(
            "dashboard.html",
            host_id=escape(str(shown["host_id"])),
            summary=escape(summary(len(leases), len(shown["devices"]))),
            leases=_list([_lease(row, shown["ttl_s"]) for row in leases], "No device is held over MCP."),
            devices=_list([_device(row) for row in shown["devices"]], "This host agent drives no device."),
            tasks=_list([_task(row) for row in shown["tasks"]], "No cloud task has run on this host yet."),
        )
    )


def summary(held: int, devices: int) -> str:
    """The heading of the MCP row."""
    return f"{held} of {devices} {'device' if devices == 1 else 'devices'} held"


def _lease(row: Mapping[str, Any], ttl_s: float) -> str:
    calls = row["in_flight"]
    busy = f"{calls} {'call' if calls == 1 else 'calls'} in flight" if calls else "between calls"
    left = f"{row['ttl_left_s']:.0f} s left" if not calls else f"{ttl_s:g} s from the end of the call"
    bar = f'<progress max="{ttl_s:g}" value="{row["ttl_left_s"]:.3f}" aria-label="TTL left"></progress>'
    return _row(
        row["device_id"],
        ("busy" if calls else "held", busy),
        f"session <code>{escape(row['session'])}</code> · held {row['held_s']:.0f} s",
        f'<p class="left">{bar}<span class="count">{left}</span></p>',
    )


def _device(row: Mapping[str, Any]) -> str:
    owner = OWNERS.get(row["owner"] or "")
    status = f"{row['status']} · {owner}" if owner else row["status"]
    size = f"{PLATFORMS.get(row['platform'], row['platform'])} · {row['width_px']} × {row['height_px']} px"
    return _row(row["device_id"], (row["status"], status), escape(size))


def _task(row: Mapping[str, Any]) -> str:
    reason = f'<p class="reason">{escape(row["reason"])}</p>' if row["reason"] else ""
    ago = f"{escape(row['device_id'])} · {row['began_s_ago']:.0f} s ago"
    return _row(row["assignment_id"], (row["status"], row["status"]), ago, reason)


def _row(name: str, badge: tuple[str, str], facts: str, more: str = "") -> str:
    kind, text = badge
    return (
        f'<li class="row"><p class="name">{escape(name)}</p>'
        f'<p class="badge {escape(kind)}">{escape(text)}</p><p class="facts">{facts}</p>{more}</li>'
    )


def _list(rows: Sequence[str], empty: str) -> str:
    return "".join(rows) if rows else f'<li class="empty">{escape(empty)}</li>'


def _filled(name: str, **values: str) -> bytes:
    """A page with its `{{name}}`s filled in, in one pass: what a value holds is not looked at again."""
    pieces = _read(name).decode().split("{{")
    out = [pieces[0]]
    for piece in pieces[1:]:
        key, _, rest = piece.partition("}}")
        out += [values[key], rest]
    return "".join(out).encode("utf-8", "backslashreplace")


@functools.cache
def _read(name: str) -> bytes:
    return (FOLDER / name).read_bytes()
