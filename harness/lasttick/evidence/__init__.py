"""What a run leaves behind, for machines and for judging it again: traces, verdicts, JUnit, all in one run folder."""

from lasttick.checks import DriverCall, History, Verdict, VerdictWord, histories, worst
from lasttick.engine.trace import Event
from lasttick.evidence.catalogue import read_catalogue, write_catalogue
from lasttick.evidence.diff import Divergence, by_example, first_divergence
from lasttick.evidence.errors import EvidenceError
from lasttick.evidence.judge import Judged, judge_run
from lasttick.evidence.junit import junit_xml
from lasttick.evidence.lookup import Manifest, find_run, read_manifest, recorded_events, run_argument, trace_file
from lasttick.evidence.results import Examples, Falsified, ScenarioResult
from lasttick.evidence.run_folder import RunFolder
from lasttick.evidence.traces import TraceExamples, read_trace, trace_path
from lasttick.evidence.verdicts import RunVerdicts, read_verdicts
from lasttick.evidence.verify import Damage, Verification, verify_run

__all__ = [
    "Damage",
    "Divergence",
    "DriverCall",
    "Event",
    "EvidenceError",
    "Examples",
    "Falsified",
    "History",
    "Judged",
    "Manifest",
    "RunFolder",
    "RunVerdicts",
    "ScenarioResult",
    "TraceExamples",
    "Verdict",
    "VerdictWord",
    "Verification",
    "by_example",
    "find_run",
    "first_divergence",
    "histories",
    "judge_run",
    "junit_xml",
    "read_catalogue",
    "read_manifest",
    "read_trace",
    "read_verdicts",
    "recorded_events",
    "run_argument",
    "trace_file",
    "trace_path",
    "verify_run",
    "worst",
    "write_catalogue",
]
