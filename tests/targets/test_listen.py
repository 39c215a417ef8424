"""A host agent's log is the same list of lines whether it was heard or read from standard error."""

import logging
from pathlib import Path

from lasttick.targets.listen import HeardLog, LogLine, WrittenLog


def test_records_on_standard_error_keep_their_tracebacks(tmp_path: Path) -> None:
    file = tmp_path / "child.log"
    file.write_text(
        "plain words\n"
        '{"name": "hostagent", "url": "x", "pid": 1}\n'
        "WARNING a.b: it failed: why\n"
        "Traceback (most recent call last):\n"
        "ValueError: why\n"
        "INFO c: done\n"
    )
    assert WrittenLog([file]).lines == [
        LogLine("", "", "plain words"),
        LogLine("WARNING", "a.b", "it failed: why\nTraceback (most recent call last):\nValueError: why"),
        LogLine("INFO", "c", "done"),
    ]


def test_it_hears_every_logger_but_the_clients_and_leaves_the_root_as_it_was() -> None:
    root = logging.getLogger()
    before = (root.level, list(root.handlers))
    log = HeardLog()
    logging.getLogger("uvicorn.access").debug("a line")
    logging.getLogger("httpx").info("GET ?token=secret")
    log.close()
    logging.getLogger("uvicorn.access").error("too late")
    assert log.lines == [LogLine("DEBUG", "uvicorn.access", "a line")]
    assert (root.level, list(root.handlers)) == before
