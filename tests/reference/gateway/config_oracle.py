"""What a configuration must say that was merged for the interpreter of these tests."""

from __future__ import annotations

from typing import Any

from lasttick.checks import boot_config

PYTHON = "/opt/agent/bin/python"


def with_ours(data: Any) -> dict[str, Any]:
    return boot_config.with_ours(data, PYTHON)
