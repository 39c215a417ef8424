"""What does a person open after a run? One page: what was shown of each requirement, and how each story went.

A function of the run folder alone: the same folder gives the same bytes, on any day and machine. The page needs no
script and loads nothing. Source: DESIGN "What machines read" (`report.html`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lasttick.evidence import (
    EvidenceError,
    Manifest,
    RunVerdicts,
    ScenarioResult,
    VerdictWord,
    read_catalogue,
    read_manifest,
    read_verdicts,
)
from lasttick.evidence.files import write_text
from lasttick.report.failure import check_command, live_profile
from lasttick.report.html_artifacts import POLICY as PICTURES
from lasttick.report.html_artifacts import shown
from lasttick.report.html_scenario import scenario_html
from lasttick.report.html_style import STYLE
from lasttick.report.html_text import Html, join, tag

FILE = "report.html"
WORST_FIRST: tuple[VerdictWord, ...] = ("fail", "inconclusive", "pass", "not_applicable")
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
TONES = (
    ("ok", "ok"),
    ("refused", "refused: busy or denied"),
    ("error", "error"),
    ("open", "no answer, or not yet"),
    ("trouble", "trouble on purpose"),
    ("clash", "two at once"),
)


def write_report(folder: Path, out: Path | None = None) -> Path:
    """Render a run folder into `out`, by default its own report.html. Raises EvidenceError."""
    path = folder / FILE if out is None else out
    write_text(path, [render(folder)])
    return path


def render(folder: Path) -> str:
    """The whole page. Raises EvidenceError for a folder without verdicts or manifest; a lost trace is only said."""
    run, manifest = read_verdicts(folder), read_manifest(folder)
    try:
        texts = read_catalogue(folder)
    except EvidenceError:
        # A damaged catalogue takes the texts away, not the report.
        texts = {}
    order = sorted(run.scenarios, key=lambda result: (WORST_FIRST.index(result.verdict), result.id))
    anchors = {result.id: f"s{number}" for number, result in enumerate(order, start=1)}
    pictures = shown(order)
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY + (PICTURES if pictures else "")),
        tag("title", f"lasttick {manifest.run}"),
        Html(f"<style>{STYLE}</style>"),
    )
    body = tag(
        "body",
        _header(run, manifest),
        _ids("Requirements", run.requirements, run.scenarios, texts, anchors),
        _ids("Laws", run.laws, run.scenarios, texts, anchors),
        tag("h2", "Scenarios"),
        _legend(),
        *[scenario_html(folder, manifest, result, anchors[result.id], pictures) for result in order],
    )
    return f'<!DOCTYPE html>\n<html lang="en">{head}\n{body}</html>\n'


def _header(run: RunVerdicts, manifest: Manifest) -> Html:
    counts = run.counts
    config = live_profile(manifest)
    facts: dict[str, str | int] = {
        **({"seed": manifest.seed} if config is None else {"profile": config}),
        "mode": manifest.mode,
        **_targets(manifest, config),
        "started": manifest.started,
        **manifest.versions,
    }
    return tag(
        "header",
        tag("h1", f"lasttick run {manifest.run}"),
        tag(
            "div",
            *[
                tag(
                    "div",
                    tag("b", counts[word]),
                    word.replace("_", " "),
                    class_=f"count {word}" + ("" if counts[word] else " none"),
                )
                for word in WORST_FIRST
            ],
            class_="counts",
        ),
        tag("div", *[tag("span", tag("b", name), value) for name, value in facts.items()], class_="facts small"),
        tag(
            "div",
            tag("code", " ".join(manifest.command_line) if config is None else check_command(config)),
            class_="soft small",
        ),
    )


def _targets(manifest: Manifest, config: str | None) -> dict[str, str]:
    """What filled the places; of a live target its address, where it is more than the profile's name."""
    if config is None:
        return {"target": ", ".join(f"{system} = {what}" for system, what in manifest.targets.items())}
    shown = ", ".join(what for what in manifest.targets.values() if what != config)
    return {"target": shown} if shown else {}


def _ids(
    title: str,
    verdicts: dict[str, VerdictWord],
    scenarios: Sequence[ScenarioResult],
    texts: dict[str, str],
    anchors: dict[str, str],
) -> Html | None:
    if not verdicts:
        return None
    rows = []
    for id_, word in verdicts.items():
        spoken = [result for result in scenarios if _speaks_of(result, id_)]
        links = [
            tag("li", tag("a", result.id, href=f"#{anchors[result.id]}"), " ", verdict_html(result.verdict))
            for result in sorted(spoken, key=lambda result: (WORST_FIRST.index(result.verdict), result.id))
        ]
        number = f"{len(spoken)} scenario{'' if len(spoken) == 1 else 's'}"
        listed = tag("details", tag("summary", number, class_="soft small"), tag("ul", *links, class_="small"))
        rows.append(
            tag(
                "tr",
                tag("td", tag("code", id_)),
                tag("td", verdict_html(word)),
                tag("td", texts.get(id_) or None, listed),
            )
        )
    head = tag("tr", tag("th", "id"), tag("th", "verdict"), tag("th", "what must hold"))
    return join([tag("h2", title), tag("table", tag("thead", head), tag("tbody", *rows))])


def _speaks_of(result: ScenarioResult, id_: str) -> bool:
    """As the run's verdicts count: who claims it, and whose standing check found something."""
    if id_ in result.requirements or id_ in result.laws:
        return True
    return any(check.id == id_ and check.verdict in ("fail", "inconclusive") for check in result.checks)


def verdict_html(word: VerdictWord) -> Html:
    return tag("b", word.replace("_", " "), class_=f"v {word}")


def _legend() -> Html:
    swatches = [tag("span", tag("i", class_=kind), said) for kind, said in TONES]
    holders = tag("span", "Lease and device lanes have the colour of the caller whose call moved the device.")
    return tag("div", *swatches, holders, class_="legend")
