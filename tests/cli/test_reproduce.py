"""`lasttick reproduce` as a user types it: both adapters, the evidence that they leave, and what is refused."""

from __future__ import annotations

import hashlib
import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from lasttick.cli import execute
from lasttick.cli.errors import FAILED, PASSED, USAGE
from lasttick.reproduce import summary
from lasttick.reproduce.exchanges import find

NUMBER = "card 1: "
PAGE = Path(__file__).parents[2] / "docs" / "evidence.md"


def reproduced(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = PASSED) -> dict[str, Any]:
    assert execute(["reproduce", *arguments, "--json"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def sides(found: dict[str, Any], column: str) -> tuple[str, str]:
    return (found["columns"]["broken"][column], found["columns"]["fixed"][column])


def test_a_click_sent_as_action_id(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = reproduced(capsys, "A04A-09", "--out", str(tmp_path))
    assert found["shown"] is True
    assert all(one["holds"] for claims in found["claims"].values() for one in claims)
    assert sides(found, "bytes on disk") == ("none", "22")
    assert sides(found, f"{NUMBER}bytes_written, by the model's log") == ("not observed", "22")
    assert sides(found, f"{NUMBER}states before the restart") == ("emitted/pending", "completed/resolved")
    assert sides(found, f"{NUMBER}states") == ("aborted/aborted, single-choice", "completed/resolved, single-choice")
    assert sides(found, f"{NUMBER}the agent got") == ("none", "allow_once")
    broken, fixed = sides(found, f"{NUMBER}audit")
    assert broken.startswith("call/accepted; result/rejected: invalid hermes interaction response")
    assert fixed == "call/accepted; result/accepted; result/rejected: already resolved"
    assert "Hermes ACP response timeout" in found["columns"]["broken"]["system messages"]
    assert sides(found, f"{NUMBER}result as sent")[0].startswith('{"action_id": "action_01"}')


@pytest.mark.parametrize("content", ["y", "Überlänge: " * 30])
def test_other_content_gives_other_byte_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    found = reproduced(capsys, "A04A-09", "--out", str(tmp_path), "--content", content)
    assert found["shown"] is True
    assert sides(found, "bytes on disk") == ("none", str(len(content.encode())))


def test_a_text_sent_as_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = reproduced(capsys, "A04A-10", "--out", str(tmp_path))
    assert found["shown"] is True
    second = "card 2: "
    assert sides(found, f"{second}states") == ("emitted", "completed")
    assert sides(found, f"{second}the agent got") == ("0 prompts", "1 prompts")
    final = sides(found, "final text")
    assert final[0] == "none"
    assert "其他" in final[1]
    assert "验收 04A other-input" in final[1]


def test_a_card_that_asks_for_several_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = reproduced(capsys, "A04A-11", "--out", str(tmp_path))
    assert found["shown"] is True
    assert sides(found, f"{NUMBER}states") == ("emitted, multi-choice", "aborted, multi-choice")
    assert sides(found, "cards that the host got")[1] == "none"
    assert sides(found, "refused cards") == ("none", "call/rejected: multi-choice not supported")
    assert "result/rejected: aborted" in sides(found, f"{NUMBER}audit")[1]
    assert sides(found, f"{NUMBER}result as sent") == ("none", '{"action_id": "study"}')


def test_the_folder_is_enough_and_is_sealed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = reproduced(capsys, "A04A-09", "--out", str(tmp_path))
    folder = Path(found.pop("folder"))
    assert folder.parent == tmp_path / "reproduced"
    again = summary.summarize(find("A04A-09"), folder)
    assert again.as_json() == found == json.loads((folder / summary.JSON_FILE).read_text())
    assert again.page() == (folder / summary.PAGE).read_text(encoding="utf-8")
    sums = dict(line.split("  ")[::-1] for line in (folder / "SHA256SUMS").read_text().splitlines())
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "SHA256SUMS"]
    assert sums == {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }


def test_the_same_seed_leaves_the_same_evidence_and_the_page_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def columns(seed: int) -> Any:
        return reproduced(capsys, "A04A-10", "--out", str(tmp_path), "--seed", str(seed))["columns"]

    assert columns(1) == columns(1)
    assert execute(["reproduce", "A04A-10", "--out", str(tmp_path)]) == PASSED
    printed = capsys.readouterr().out
    assert "| card 2: states | emitted | completed |" in printed
    assert "evidence: " in printed


def test_an_exchange_that_does_not_show_its_defect_is_red(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from lasttick.reproduce import run

    right = run.find_mutant
    monkeypatch.setattr(run, "find_mutant", lambda _: right("lineup/audit-keeps-the-one-form"))
    found = reproduced(capsys, "A04A-09", "--out", str(tmp_path), code=FAILED)
    assert found["shown"] is False
    assert [one["claim"] for one in found["claims"]["broken"] if not one["holds"]]
    assert all(one["holds"] for one in found["claims"]["fixed"])


def test_an_exchange_that_does_not_come_to_its_end_is_one_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from lasttick.reproduce import run

    right = run.find_mutant
    monkeypatch.setattr(run, "find_mutant", lambda _: right("lineup/only-action-ids"))
    monkeypatch.setattr("lasttick.reproduce.stories.PATIENCE_S", 1.0)
    assert execute(["reproduce", "A04A-09", "--out", str(tmp_path)]) == FAILED
    assert "did not come to its end on the broken adapter" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["A04A-12"],
        ["A04A-11", "--content", "x"],
        ["--ledger", "nowhere.sqlite"],
        ["--ledger", __file__],
    ],
)
def test_what_cannot_be_done_is_one_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert execute(["reproduce", *arguments]) == USAGE
    said = capsys.readouterr()
    assert said.out == ""
    assert "\n  expected: " in said.err
    assert "\n  next: " in said.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("line", ["no JSON", "[]", '{"body": 3}', "{}"])
def test_a_model_log_of_another_shape_is_one_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    folder = Path(reproduced(capsys, "A04A-10", "--out", str(tmp_path))["folder"])
    log = tmp_path / "log.jsonl"
    log.write_text(f'{{"body": {{}}}}\n{line}\n')
    ledger = str(folder / "fixed" / "ledger.sqlite")
    assert execute(["reproduce", "--ledger", ledger, "--model-log", str(log)]) == USAGE
    assert "line 2 of" in capsys.readouterr().err


def test_the_commands_of_the_page_do_what_it_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("lasttick reproduce ")]
    exchanges = [shlex.split(line, comments=True)[1:] for line in lines if "--ledger" not in line]
    assert [arguments[1] for arguments in exchanges] == ["A04A-09", "A04A-10", "A04A-11", "A04A-09"]
    for arguments in exchanges:
        assert execute(arguments) == PASSED
    (first,) = (tmp_path / "reports" / "reproduced").glob("*-A04A-10")
    for name in ("ledger.sqlite", "model.jsonl"):
        (tmp_path / name).write_bytes((first / "fixed" / name).read_bytes())
    capsys.readouterr()
    ledgers = [shlex.split(line, comments=True)[1:] for line in lines if "--ledger" in line]
    assert len(ledgers) == 2
    for arguments in ledgers:
        assert execute(arguments) == PASSED
        assert [call["call_state"] for call in json.loads(capsys.readouterr().out)["calls"]] == ["completed"] * 2
