"""What do the host agents of a world say in their logs? One list of lines, the same in every mode.

In virtual mode everything any logger of this process is told, DEBUG included; in process mode the standard error of
each host agent. Source: HA-02 ("no line in any logger"), HA-10 (log levels), HA-23 (order of the start).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

CLIENT_LOGGERS = ("httpx", "httpcore")
"""Not heard: in a virtual world the scenario's own HTTP clients log there too."""

_LINE = re.compile(r"(DEBUG|INFO|WARNING|ERROR|CRITICAL) ([\w.]+): (.*)", re.DOTALL)
_READY = '{"name"'


@dataclass(frozen=True, slots=True)
class LogLine:
    """One record; `text` holds the traceback too. `level` and `logger` are empty for plain text on standard error."""

    level: str
    logger: str
    text: str


class Log(Protocol):
    """The lines so far, in order. In process mode settle first: what was written a moment ago may be on its way."""

    @property
    def lines(self) -> Sequence[LogLine]: ...


class HeardLog(logging.Handler):
    """Listens on the root logger, from DEBUG on, until closed; loggers that keep their lines to themselves tell it too.

    (uvicorn sets some of its own so, for the whole process.)
    """

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[LogLine] = []
        self._root = logging.getLogger()
        self._before = [(logger, logger.level, logger.propagate) for logger in [self._root, *_secretive()]]
        for logger, _, _ in self._before:
            logger.setLevel(logging.DEBUG)
            logger.propagate = True
        self._root.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.partition(".")[0] not in CLIENT_LOGGERS:
            self.lines.append(LogLine(record.levelname, record.name, self.format(record)))

    def close(self) -> None:
        self._root.removeHandler(self)
        for logger, level, propagate in self._before:
            logger.setLevel(level)
            logger.propagate = propagate
        super().close()


def _secretive() -> list[logging.Logger]:
    """Loggers whose lines would not reach the root from DEBUG on; in the order of their making."""
    made = [logger for logger in logging.root.manager.loggerDict.values() if isinstance(logger, logging.Logger)]
    return [logger for logger in made if not logger.propagate or logger.level > logging.DEBUG]


class WrittenLog:
    """Reads the standard error of children again each time; `files` may grow while it listens."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = files

    @property
    def lines(self) -> Sequence[LogLine]:
        return [line for file in self._files for line in parse(file.read_text(errors="replace"))]


def parse(said: str) -> list[LogLine]:
    """The records in a child's standard error. Lines that begin no record belong to the one before."""
    records: list[LogLine] = []
    for line in said.splitlines():
        if line.startswith(_READY):
            continue
        if found := _LINE.fullmatch(line):
            records.append(LogLine(found[1], found[2], found[3]))
        elif records and records[-1].level:
            last = records[-1]
            records[-1] = LogLine(last.level, last.logger, f"{last.text}\n{line}")
        else:
            records.append(LogLine("", "", line))
    return records
