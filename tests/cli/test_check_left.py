"""What `lasttick check` says, and keeps, when a target does not take back what it has given."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from lasttick.cli import check_play, execute
from lasttick.laws.gate.journal import journal_file, read_journal

PROFILE = """
version = 1
[target]
url = "{url}"
[callers.alice]
[lease]
ttl_s = 4
renewed_by = ["use"]
acquire = {{ http = "POST /leases", out = {{ lease = "/body/id" }} }}
use = {{ http = "POST /leases/{{lease}}/use", json = {{ mark = "{{mark}}" }} }}
release = {{ http = "DELETE /leases/{{lease}}" }}
"""
LAW = """
from lasttick import Target, control, law

@law("session/ended-is-ended", seconds=lambda profile: 2.0)
async def test_ended_is_ended(target: Target) -> None:
    '''A lease is taken and given back.'''
    (alice,) = await target.callers(1)
    async with target.subject() as lease:
        said = await lease.acquire(alice)
        control(said.ok, "not granted", said)
    target.case("one")
"""


class Service(ThreadingHTTPServer):
    """`release_status`: what a DELETE is answered."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.release_status = 500
        self.released = 0


class Handler(BaseHTTPRequestHandler):
    server: Service

    def log_message(self, *_: Any) -> None:
        return None

    def do_POST(self) -> None:
        self._answer(200, {"id": "L1"})

    def do_DELETE(self) -> None:
        self.server.released += 1
        self._answer(self.server.release_status, {})

    def _answer(self, status: int, value: Any) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """A service, and the current folder with a profile of it and one law."""
    made = Service()
    threading.Thread(target=made.serve_forever, daemon=True).start()
    monkeypatch.chdir(tmp_path)
    laws = tmp_path / "scenarios" / "laws"
    laws.mkdir(parents=True)
    (laws / "test_left.py").write_text(LAW)
    sys.modules.pop("scenarios.laws.test_left", None)
    monkeypatch.setattr(check_play, "laws_folder", lambda: laws)
    Path("lasttick.toml").write_text(PROFILE.format(url=f"http://127.0.0.1:{made.server_port}"))
    yield made
    made.shutdown()
    made.server_close()


@pytest.mark.parametrize("words", [(), ("-n", "1")])
def test_what_is_not_taken_back_is_named_and_remembered(
    words: tuple[str, ...], service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["check", *words]) == 0, "the laws themselves hold"
    err = capsys.readouterr().err
    left = "left on the target: the lease of alice (lease=L1) could not be ended: HTTP 500"
    assert err.count(left) == 1, err
    assert ".lasttick/lasttick.journal.jsonl names what is left" in err
    (entry,) = read_journal(journal_file(Path("lasttick.toml")))
    assert entry.names == {"lease": "L1"}

    service.release_status = 200
    assert execute(["check", *words]) == 0
    out, err = capsys.readouterr()
    assert "ended what an earlier run had left on the target: 1 sessions and leases" in out
    assert "left on the target" not in err
    assert not journal_file(Path("lasttick.toml")).exists()


def test_a_pointer_that_finds_nothing_is_told_with_its_place(
    service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    service.release_status = 200
    text = Path("lasttick.toml").read_text()
    Path("lasttick.toml").write_text(text.replace('"/body/id"', '"/body/lease"'))
    assert execute(["check"]) == 4
    out, err = capsys.readouterr()
    assert "lasttick.toml:9 ([lease.acquire] out.lease): lease = /body/lease finds nothing: no 'lease' in" in out
    assert "  next: correct the pointer" in out
    assert "left on the target: the lease of alice could not be ended: what came of its request is not known" in err
    assert len(read_journal(journal_file(Path("lasttick.toml")))) == 1
