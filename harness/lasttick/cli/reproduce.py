"""`lasttick reproduce`: a recorded exchange on the adapter with the old defect, then on the fixed one; side by side.

With `--ledger`, the columns of a ledger that came from elsewhere, from the file alone. Source: contract lineup C-11,
LU-16.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lasttick.cli.errors import FAILED, PASSED, UsageError
from lasttick.engine.clock import SystemClock, SystemEntropy

FOLDER = "reproduced"
VERSION = 1


def reproduce(exchange_id: str | None, *, content: str | None, out: Path, seed: int, as_json: bool) -> int:
    """0: the old defect did what was recorded, and the fixed adapter does not; 1: not so. Raises UnknownExchange,
    EvidenceError, UsageError."""
    from lasttick.reproduce import exchanges
    from lasttick.reproduce.run import reproduce as play
    from lasttick.reproduce.summary import PAGE

    if exchange_id is None:
        raise UsageError(
            "nothing to reproduce", f"one of {', '.join(exchanges.known())}, or --ledger FILE", "give one of these"
        )
    exchange = exchanges.find(exchange_id, content)
    utc = SystemClock().wall()
    folder = out / FOLDER / f"{utc:%Y%m%dT%H%M%SZ}-{SystemEntropy().token_bytes(3).hex()}-{exchange.id}"
    folder.mkdir(parents=True)
    summary = play(exchange, folder, seed=seed)
    if as_json:
        print(json.dumps({**summary.as_json(), "folder": str(folder)}, indent=1))
    else:
        print(summary.page())
        print(f"evidence: {folder}, this page as {PAGE}")
    return PASSED if summary.is_shown else FAILED


def columns_of(ledger: Path, model_log: Path | None) -> int:
    """The cards of a copied ledger, as JSON. `model_log`: what the model was asked, one request a line, for the bytes
    that were written. Raises NoLedger, UsageError."""
    from lasttick.reproduce.model_log import bytes_written
    from lasttick.reproduce.reader import read_evidence, read_refusals, read_said

    calls = read_evidence(ledger)
    if model_log is not None:
        calls = read_evidence(ledger, bytes_written(calls, _requests(model_log)))
    document = {
        "version": VERSION,
        "calls": [asdict(call) for call in calls],
        "refused": [asdict(row) for row in read_refusals(ledger)],
        "said": [asdict(said) for said in read_said(ledger)],
    }
    print(json.dumps(document, indent=1))
    return PASSED


def _requests(path: Path) -> list[Any]:
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        try:
            body = json.loads(line)["body"]
        except (KeyError, TypeError, ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            raise UsageError(
                f"line {number} of {path} is no request of a model: {line[:60]!r}",
                'objects with a member "body", one a line, as model.jsonl of an evidence folder has them',
                "name such a file, or leave --model-log out",
            )
        found.append(body)
    return found
