"""What a run leaves behind, for machines and for judging it again: traces, verdicts, JUnit, all in one run folder."""

from lasttick.checks import DriverCall, History, Verdict, VerdictWord, histories, worst
from lasttick.engine.trace import Event
from lasttick.evidence.errors import EvidenceError
from lasttick.evidence.junit import junit_xml
from lasttick.evidence.results import Examples, Falsified, ScenarioResult
from lasttick.evidence.run_folder import RunFolder
from lasttick.evidence.traces import read_trace, trace_path
from lasttick.evidence.verdicts import RunVerdicts, read_verdicts

__all__ = [
    "DriverCall",
    "Event",
    "EvidenceError",
    "Examples",
    "Falsified",
    "History",
    "RunFolder",
    "RunVerdicts",
    "ScenarioResult",
    "Verdict",
    "VerdictWord",
    "histories",
    "junit_xml",
    "read_trace",
    "read_verdicts",
    "trace_path",
    "worst",
]
