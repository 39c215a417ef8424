"""What does the gate leave for people and for CI? One line per law, with the reason and the raw replies that it rests
on; a page of Markdown; the results as JUnit shows them. Pure.

Everything is redacted already: secrets were replaced when the replies were written down.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from lasttick.evidence import RunVerdicts, ScenarioResult, junit_xml
from lasttick.laws.gate.ruling import Ruling, Word

WORDS: dict[Word, str] = {
    "pass": "PASS",
    "fail": "FAIL",
    "inconclusive": "INCONCLUSIVE",
    "not_applicable": "N.A.",
    "known": "KNOWN",
}
WORST_FIRST: tuple[Word, ...] = ("fail", "inconclusive", "known", "pass", "not_applicable")
REPLIES_MAX = 20
LINE_ENDS = re.compile(r"[\r\n]+")
CHARS_MAX = 600
"""Of one reply on the terminal; the run folder has more."""


def lines_of(ruling: Ruling, replies: Sequence[str] = ()) -> list[str]:
    """One line, and below it why, when it is no pass. `replies`: shown as well."""
    head = f"{WORDS[ruling.word]:<12}  {ruling.law:<30}"
    if ruling.word == "not_applicable":
        return [f"{head}  {plain(ruling.reason)}"]
    head += f"  {_cases(ruling):>8}  {ruling.seconds:6.1f} s"
    if ruling.word == "inconclusive" and not ruling.promised:
        head += "  (not in the scope)"
    told = (*ruling.reason.splitlines(), *map(_short, (*_few(ruling.replies), *replies)))
    return [head, *(f"    {plain(line)}" for line in told)]


def summary(rulings: Sequence[Ruling]) -> str:
    """`2 failed, 9 passed`, in words of the lines above it."""
    counts = [(sum(ruling.word == word for ruling in rulings), WORDS[word]) for word in WORST_FIRST]
    return ", ".join(f"{number} {word}" for number, word in counts if number) or "nothing was judged"


def markdown(rulings: Sequence[Ruling], *, target: str, code: int) -> str:
    """A page for a CI summary, with a last line end."""
    lines = [
        f"## lasttick check: {'green' if code == 0 else 'red'} (exit code {code})",
        "",
        f"{summary(rulings)}; target {_cell(target)}",
        "",
        "| law | verdict | cases | seconds | |",
        "|---|---|---:|---:|---|",
    ]
    for ruling in sorted(rulings, key=lambda ruling: WORST_FIRST.index(ruling.word)):
        reason = ruling.reason.partition("\n")[0]
        word = WORDS[ruling.word]
        lines.append(f"| {ruling.law} | {word} | {ruling.cases} | {ruling.seconds:.1f} | {_cell(reason)} |")
    for ruling in rulings:
        if ruling.word in ("fail", "inconclusive", "known"):
            told = [*ruling.reason.splitlines(), *_few(ruling.replies)]
            lines += ["", f"**{WORDS[ruling.word]} {ruling.law}**", ""]
            lines += [f"    {plain(line)}" for line in told]
    return "\n".join((*lines, ""))


def junit(rulings: Iterable[Ruling]) -> str:
    """As the gate rules: a known failure, and an inconclusive law that the scope does not promise, are skipped."""
    results = [result for ruling in rulings for result in _ruled(ruling)]
    return junit_xml(RunVerdicts.of(results, seed=1, mode="live"))


def plain(text: str) -> str:
    """On one line, whose ends a space stands for. A peer's text must not move the cursor."""
    line = LINE_ENDS.sub(" ", text.rstrip("\r\n"))
    return "".join(char if char.isprintable() else "?" for char in line)


def _ruled(ruling: Ruling) -> Iterable[ScenarioResult]:
    """One test case per law, whatever it was made of."""
    word, reason = ruling.word, ruling.reason
    if word == "known" or (word == "inconclusive" and not ruling.promised):
        word, reason = "not_applicable", f"{WORDS[ruling.word]}: {reason}"
    yield replace(
        ScenarioResult(f"laws/{ruling.law}", (), (ruling.law,), word, reason, ruling.seconds, 0.0),
        cases=ruling.cases,
        judged=ruling.judged,
        replies=ruling.replies,
    )


def _cases(ruling: Ruling) -> str:
    return "1 case" if ruling.cases == 1 else f"{ruling.cases} cases"


def _few(replies: Sequence[str]) -> list[str]:
    """The last ones are those that decided."""
    if len(replies) <= REPLIES_MAX:
        return list(replies)
    return [f"  ({len(replies) - REPLIES_MAX} earlier replies are in the run folder)", *replies[-REPLIES_MAX:]]


def _short(reply: str) -> str:
    return reply if len(reply) <= CHARS_MAX else f"{reply[: CHARS_MAX - 3]}..."


def _cell(text: str) -> str:
    return plain(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
