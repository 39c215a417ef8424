"""How does a CI system show the run? JUnit XML: inconclusive counts as failed, not applicable as skipped.

Source: DESIGN "What machines read", contract world "Verdicts".
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from lasttick.evidence.results import ScenarioResult
from lasttick.evidence.verdicts import RunVerdicts

# XML 1.0 can not hold these in any escaped form; traces and messages of hostile peers do.
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(run: RunVerdicts) -> str:
    """The whole document, with its XML declaration and a last line end."""
    counts = run.counts
    numbers = {
        "tests": str(len(run.scenarios)),
        "failures": str(counts["fail"] + counts["inconclusive"]),
        "errors": "0",
        "skipped": str(counts["not_applicable"]),
        "time": f"{sum(result.duration_s for result in run.scenarios):.3f}",
    }
    suites = ElementTree.Element("testsuites", {"name": "lasttick", **numbers})
    suite = ElementTree.SubElement(suites, "testsuite", {"name": f"lasttick {run.mode}", **numbers})
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in (("seed", str(run.seed)), ("mode", run.mode)):
        ElementTree.SubElement(properties, "property", {"name": name, "value": clean(value)})
    for result in run.scenarios:
        _add_case(suite, result)
    ElementTree.indent(suites)
    body = ElementTree.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{body}\n'


def clean(text: str) -> str:
    """`text` with a replacement mark for every character that XML can not hold."""
    return NOT_XML.sub("\ufffd", text)


def _add_case(suite: ElementTree.Element, result: ScenarioResult) -> None:
    base, bracket, parameters = result.id.partition("[")
    folder, _, name = base.rpartition("/")
    case = ElementTree.SubElement(
        suite,
        "testcase",
        {
            "classname": clean(folder.replace("/", ".")),
            "name": clean(name + bracket + parameters),
            "time": f"{result.duration_s:.3f}",
        },
    )
    if result.cases is not None:
        properties = ElementTree.SubElement(case, "properties")
        for name, value in (("cases", str(result.cases)), ("judged", result.judged)):
            ElementTree.SubElement(properties, "property", {"name": name, "value": clean(value)})
    if result.verdict == "not_applicable":
        ElementTree.SubElement(case, "skipped", {"message": clean(result.reason)})
    elif result.verdict != "pass":
        word = "INCONCLUSIVE" if result.verdict == "inconclusive" else "FAIL"
        failure = ElementTree.SubElement(
            case, "failure", {"type": result.verdict, "message": clean(f"{word}: {result.reason}")}
        )
        found = [f"{check.id} {check.verdict}: {check.reason}" for check in result.checks]
        failure.text = clean("\n".join((*found, *result.replies)))
