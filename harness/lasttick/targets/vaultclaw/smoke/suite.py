"""What came of a smoke run? Each group by its name, with its reason, and one exit code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from lasttick.checks import VerdictWord, worst
from lasttick.targets.vaultclaw.smoke.groups import GROUPS, Group
from lasttick.targets.vaultclaw.smoke.settings import Settings, SmokeRefused, read
from lasttick.targets.vaultclaw.smoke.talk import Caller, Failed, MissingScope, Talk

EXIT_CODES: dict[VerdictWord, int] = {"pass": 0, "fail": 1, "inconclusive": 4}
WORDS: dict[VerdictWord, str] = {
    "pass": "PASS",
    "fail": "FAIL",
    "inconclusive": "INCONCLUSIVE",
    "not_applicable": "N.A.",
}
BY_HAND = "needs a person who denies at the vault; set VC_SMOKE_MANUAL_APPROVAL=1"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One group: its verdict and why, or a remark."""

    group: str
    verdict: VerdictWord
    reason: str = ""

    def line(self) -> str:
        return f"{WORDS[self.verdict]:<12}  {self.group:<25}  {self.reason}".rstrip()


@dataclass(frozen=True, slots=True)
class SmokeRun:
    """A run that is over. `outcomes` is empty when it was refused."""

    code: int
    outcomes: tuple[Outcome, ...]

    def verdicts(self) -> dict[str, VerdictWord]:
        """By group."""
        return {outcome.group: outcome.verdict for outcome in self.outcomes}

    def reason(self, group: str) -> str:
        """Why, or a remark. Raises KeyError for a group that was not played."""
        return {outcome.group: outcome.reason for outcome in self.outcomes}[group]


async def run(caller: Caller, settings: Settings, say: Callable[[str], None]) -> list[Outcome]:
    """Play all groups, and say a line for each as it ends. Raises SmokeUnreachable."""
    talk, outcomes = Talk(caller, settings, say), list[Outcome]()
    for group in GROUPS:
        if outcomes and outcomes[0].verdict != "pass":
            outcome = Outcome(group.name, "inconclusive", "there is no session to play it in")
        elif group.manual and not settings.manual:
            outcome = Outcome(group.name, "not_applicable", BY_HAND)
        else:
            outcome = await played(group, talk)
        # What a wrong server answered is told as it came, but for the token.
        outcome = replace(outcome, reason=outcome.reason.replace(settings.token, "[token]"))
        outcomes.append(outcome)
        say(outcome.line())
    return outcomes


async def played(group: Group, talk: Talk) -> Outcome:
    """One group. Raises SmokeUnreachable."""
    try:
        return Outcome(group.name, "pass", await group.play(talk))
    except Failed as error:
        return Outcome(group.name, "fail", str(error))
    except MissingScope as error:
        return Outcome(group.name, "inconclusive", f"the token lacks the scope {error}")
    except (KeyError, TypeError, AttributeError) as error:
        # The answer of a server that is not ours: a member is missing, or of another type.
        why = f"an answer has another shape ({type(error).__name__}: {error}); expected that of contract vaultclaw"
        return Outcome(group.name, "fail", why)


async def attempt(
    environ: Mapping[str, str], caller: Callable[[Settings], Caller], say: Callable[[str], None]
) -> SmokeRun:
    """The suite as a command plays it, whatever comes of it; a refusal is said."""
    try:
        settings = read(environ)
        outcomes = await run(caller(settings), settings, say)
    except SmokeRefused as error:
        say(str(error))
        return SmokeRun(error.exit_code, ())
    code = exit_code(outcomes)
    say(f"{summary(outcomes)}; exit code {code}")
    return SmokeRun(code, tuple(outcomes))


def summary(outcomes: Sequence[Outcome]) -> str:
    """`6 PASS, 1 N.A.`"""
    counts = {word: sum(WORDS[one.verdict] == word for one in outcomes) for word in WORDS.values()}
    return ", ".join(f"{number} {word}" for word, number in counts.items() if number)


def exit_code(outcomes: Sequence[Outcome]) -> int:
    """0 all well, 1 a group failed, 4 one could not be judged."""
    return EXIT_CODES[worst(outcome.verdict for outcome in outcomes)]
