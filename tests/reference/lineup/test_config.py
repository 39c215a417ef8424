"""Which settings are refused, and does a refusal say what to write instead?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lasttick.reference.lineup.config import ConfigError, LineupConfig


def environ(tmp_path: Path, **changed: str) -> dict[str, str]:
    right = {"LINEUP_AGENT": "hermes 'acp'", "LINEUP_LEDGER": str(tmp_path / "l.sqlite"), "LINEUP_CWD": str(tmp_path)}
    return {**right, **changed}


def test_the_environment_is_read_and_options_go_over_it(tmp_path: Path) -> None:
    read = LineupConfig.from_env(environ(tmp_path, LINEUP_RESPONSE_TIMEOUT_S="50"), host="ws://127.0.0.1:0")
    assert read == LineupConfig(
        ("hermes", "acp"), tmp_path / "l.sqlite", tmp_path, host="ws://127.0.0.1:0", response_timeout_s=50.0
    )
    assert read.websocket == ("127.0.0.1", 0)
    assert LineupConfig.from_env(environ(tmp_path)).websocket is None
    assert LineupConfig.from_env(environ(tmp_path, LINEUP_PERMISSION_LIFE_S="3")).permission_life_s == 3.0
    assert read.permission_life_s is None


@pytest.mark.parametrize("host", ["ws://[::1]:8780", "ws://localhost:1", "ws://127.0.0.2:65535/"])
def test_loopback_has_several_names(tmp_path: Path, host: str) -> None:
    assert LineupConfig.from_env(environ(tmp_path, LINEUP_HOST=host)).websocket is not None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LINEUP_AGENT", ""),
        ("LINEUP_AGENT", "hermes 'acp"),
        ("LINEUP_AGENT", "''"),
        ("LINEUP_CWD", "/nowhere/at/all"),
        ("LINEUP_LEDGER", "/nowhere/at/all/l.sqlite"),
        *(("LINEUP_PERMISSION_LIFE_S", value) for value in ("soon", "0", "-1", "nan", "inf")),
        *(("LINEUP_RESPONSE_TIMEOUT_S", value) for value in ("soon", "0", "-1", "nan", "inf")),
        *(
            ("LINEUP_HOST", value)
            for value in (
                "tcp",
                "ws://0.0.0.0:1",
                "ws://example.org:1",
                "ws://127.0.0.1",
                "ws://127.0.0.1:99999",
                "ws://[",
            )
        ),
    ],
)
def test_a_wrong_setting_is_named_with_what_is_expected(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=rf"{name} is .*; expected .*; correct {name} and start again"):
        LineupConfig.from_env(environ(tmp_path, **{name: value}))


@pytest.mark.parametrize("timeout_s", [True, "50", None])
def test_a_time_out_is_a_number(tmp_path: Path, timeout_s: Any) -> None:
    with pytest.raises(ConfigError, match="LINEUP_RESPONSE_TIMEOUT_S is"):
        LineupConfig.from_env(environ(tmp_path), response_timeout_s=timeout_s)
