"""`serve hostagent --conformance-fixtures`: where it is refused, and what a served test build says of itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from lasttick.cli import execute

FIXTURES = ("serve", "hostagent", "--port", "0", "--conformance-fixtures")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((*FIXTURES, "--devices", "http://127.0.0.1:7001"), "whose devices may be real"),
        ((*FIXTURES, "--host", "0.0.0.0", "--allow-non-loopback"), "the conformance fixtures are asked for"),
        (("serve", "hostagent", "--port", "0", "--open-door"), "the door is to be open without"),
    ],
)
def test_a_test_build_is_refused_where_it_could_do_harm(
    arguments: tuple[str, ...],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("HOST_AGENT_CONSOLE_ALLOW_NON_LOOPBACK", "1")
    folder = tmp_path / "identity"
    assert execute([*arguments, "--identity-dir", str(folder)]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert "contract mcp_conformance, section 4" in err
    assert not folder.exists(), "nothing is made by a start that is refused"
