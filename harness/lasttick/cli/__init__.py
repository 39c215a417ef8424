"""The command `lasttick`: what is typed, turned into calls of the parts that do it.

Nothing but Typer is imported here; each command imports what it needs when it runs, so that help is quick. A command
returns its exit code. An exception that carries an `exit_code` is a message for a person: it is printed without a
traceback. Source: DESIGN "What a user sees", "What machines read" (exit codes).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from lasttick.cli.errors import INTERRUPTED, PASSED, USAGE
from lasttick.cli.options import PLAIN, IdentityDir
from lasttick.cli.serve_commands import serve

app = typer.Typer(help="Who may call a tool, who holds the device, what the last tick does.", **PLAIN)  # type: ignore[arg-type]
mutants = typer.Typer(help="Wrong versions on purpose: the suite, tested.", **PLAIN)  # type: ignore[arg-type]
app.add_typer(serve, name="serve")
bench = typer.Typer(help="How fast and how fair, as ratios to bare floors.", **PLAIN)  # type: ignore[arg-type]
conformance = typer.Typer(help="The official MCP suite on our servers.", **PLAIN)  # type: ignore[arg-type]
app.add_typer(mutants, name="mutants")
app.add_typer(bench, name="bench")
app.add_typer(conformance, name="conformance")

Json = Annotated[bool, typer.Option("--json", help="Machine-readable, on standard output.")]
Run = Annotated[str, typer.Argument(help="latest, a name below reports/runs, or a folder.")]
Tools = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Where Node, suite and Inspector are (default: LASTTICK_TOOLS).")
]
Quick = Annotated[bool, typer.Option("--quick", help="A few rounds: to see that it runs, not to measure.")]


STDOUT = 1


def main() -> None:
    """The console script."""
    sys.exit(execute(sys.argv[1:]))


def execute(arguments: Sequence[str]) -> int:
    """Run one command line. Returns its exit code; says on standard error why when it is not 0."""
    try:
        code = app(args=list(arguments), prog_name="lasttick", standalone_mode=False)
        if sys.stdout is not None:  # closed by who started it
            sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        return _nobody_reads()
    except SystemExit as end:
        # What Typer makes of a pipe that breaks in the middle of a command.
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        return _nobody_reads()
    except OSError as error:
        return _say(
            f"{error}\n  expected: a file or folder that can be used\n  next: correct its path or rights", USAGE
        )
    except Exception as error:
        if not isinstance(getattr(error, "exit_code", None), int):
            raise
        return _say(_message(error), error.exit_code)  # type: ignore[attr-defined]
    return code if isinstance(code, int) else PASSED


def _nobody_reads() -> int:
    """The reader has gone (`lasttick requirements | head`); what Python flushes at exit must go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), STDOUT)
    return PASSED


def _message(error: Exception) -> str:
    """Our own errors have three parts; Typer's say only what happened, and know the command it happened to."""
    context = getattr(error, "ctx", None)
    if not hasattr(error, "format_message"):
        return str(error)
    usage = context.get_usage().removeprefix("Usage: ") if context else "lasttick COMMAND"
    command = context.command_path if context else "lasttick"
    return f"{error.format_message()}\n  expected: {usage}\n  next: see {command} --help"


def _say(message: str, code: int) -> int:
    print(f"lasttick: {message}", file=sys.stderr)
    return code


def _version(asked: bool) -> None:
    if asked:
        from lasttick import __version__

        print(f"lasttick {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


@app.command()
def run(
    pattern: Annotated[str | None, typer.Argument(help="Part of scenario ids, or a shell pattern.")] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same trace.")] = 1,
    mode: Annotated[str, typer.Option(metavar="virtual|process", help="How real the world is.")] = "virtual",
    workers: Annotated[str | None, typer.Option("-n", metavar="N", help="Processes to share the work.")] = None,
    target: Annotated[str | None, typer.Option(metavar="SYSTEM=WHAT", help="Such as hostagent=mutant:ID.")] = None,
    json: Json = False,
) -> int:
    """Run scenarios; verdicts, traces and JUnit go to reports/."""
    from lasttick.cli.run import run_scenarios

    return run_scenarios(pattern, seed=seed, mode=mode, workers=workers, target=target, as_json=json)


@app.command()
def check(
    config: Annotated[Path, typer.Option(metavar="FILE", help="The profile of the target.")] = Path("lasttick.toml"),
    only: Annotated[
        list[str] | None, typer.Option(metavar="LAW", help="An id, part of ids, or a pattern; may be repeated.")
    ] = None,
    budget: Annotated[str | None, typer.Option(metavar="TIME", help="At most so long: 90s, 10m, 1h.")] = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Verdicts as JUnit XML.")] = None,
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="Verdicts as a page for a CI summary.")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Which laws, how long, what gaps cost; plays none.")] = False,
    write_scope: Annotated[bool, typer.Option("--write-scope", help="Promise what this run shows.")] = False,
    workers: Annotated[str | None, typer.Option("-n", metavar="N", help="Processes to share the work.")] = None,
    verbose: Annotated[bool, typer.Option("-v", help="Every raw reply, of laws that hold too.")] = False,
    target: Annotated[
        str | None, typer.Option(metavar="SYSTEM=WHAT", help="With --only VC-22: vaultclaw=cmd:COMMAND.")
    ] = None,
) -> int:
    """The laws on your own target; exit 1 when one is broken."""
    from lasttick.cli.check import Asked
    from lasttick.cli.check import check as check_target

    return check_target(
        Asked(
            config,
            only=tuple(only or ()),
            budget=budget,
            junit=junit,
            markdown=markdown,
            plan=plan,
            write_scope=write_scope,
            workers=workers,
            verbose=verbose,
            target=target,
        )
    )


@app.command()
def init(
    profile: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The nearest one: approval-http, lease-queue, mcp-gateway, seed-gateway, seed-hostagent, "
            "seed-lineup, seed-vaultclaw.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Where to write it (default lasttick.toml).")] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Write the JSON schema for editors instead.")] = False,
) -> int:
    """Write a profile: how each verb reaches your target."""
    from lasttick.cli.init import init as write

    return write(profile, out, schema=schema)


@app.command()
def demo() -> int:
    """A story that goes wrong on a broken server and right on a fixed one."""
    from lasttick.cli.demo import demo

    return demo()


@app.command()
def replay(
    run: Run,
    scenario: Annotated[str | None, typer.Argument(help="Only this one: its id, or part of it.")] = None,
    all: Annotated[bool, typer.Option("--all", help="Every example, not the falsified one alone.")] = False,
    json: Json = False,
) -> int:
    """Play a recorded run again: same hash, or where not."""
    from lasttick.cli.replay import replay_run

    return replay_run(run, scenario, every_example=all, as_json=json)


@app.command()
def verify(run: Run, json: Json = False) -> int:
    """Find what was changed in a run's evidence, and where."""
    from lasttick.cli.evidence import verify as verify_evidence

    return verify_evidence(run, as_json=json)


@app.command()
def judge(run: Run, json: Json = False) -> int:
    """Today's checks over a run's recorded traces."""
    from lasttick.cli.evidence import judge as judge_evidence

    return judge_evidence(run, as_json=json)


@app.command()
def report(
    run: Run,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Instead of report.html in the run folder.")] = None,
) -> int:
    """Render a run's HTML report again from disk."""
    from lasttick.cli.evidence import report as render_report

    return render_report(run, out)


@app.command()
def reproduce(
    id: Annotated[str | None, typer.Argument(metavar="[EXCHANGE]", help="A04A-09, A04A-10 or A04A-11.")] = None,
    content: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What is written or typed, in place of the recorded text.")
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where reproduced/ goes.")] = Path("reports"),
    seed: Annotated[int, typer.Option(help="Same seed, same evidence.")] = 1,
    ledger: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Instead: what a copied ledger says, as JSON.")
    ] = None,
    model_log: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --ledger: the model's log, for bytes that were written.")
    ] = None,
    json: Json = False,
) -> int:
    """A recorded exchange, broken and fixed, side by side."""
    from lasttick.cli.reproduce import columns_of
    from lasttick.cli.reproduce import reproduce as play

    if ledger is not None:
        return columns_of(ledger, model_log)
    return play(id, content=content, out=out, seed=seed, as_json=json)


@app.command()
def explain(
    id: Annotated[str, typer.Argument(help="A requirement (HA-06) or a law (lease/exclusive).")], json: Json = False
) -> int:
    """Show an id's text, source, scenarios and mutants."""
    from lasttick.cli.explain import explain_id

    return explain_id(id, as_json=json)


@app.command()
def requirements(json: Json = False) -> int:
    """List every requirement with its scenarios and mutants."""
    from lasttick.cli.explain import list_requirements

    return list_requirements(as_json=json)


@app.command("compare")
def compare_with(
    system: Annotated[str, typer.Argument(help="vaultclaw.")],
    peer: Annotated[str | None, typer.Option(metavar="CMD", help="The other program, and its arguments.")] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same calls.")] = 1,
    calls: Annotated[int, typer.Option(help="How many calls the seed makes up.")] = 200,
    only: Annotated[str, typer.Option(metavar="PART", help="Only scripts with this in their name.")] = "",
    callers: Annotated[int, typer.Option(help="At once, for the figures; 0 measures none.")] = 8,
    json: Json = False,
) -> int:
    """Another program and this one, side by side."""
    from lasttick.cli.compare import compare

    return compare(system, peer, seed=seed, calls=calls, only=only, callers=callers, as_json=json)


@conformance.command("mcp")
def conformance_mcp(
    system: Annotated[str, typer.Option(metavar="NAME", help="hostagent or vaultclaw.")] = "hostagent",
    suite: Annotated[
        list[str] | None, typer.Option(metavar="VERSION", help="0.1.16 or 0.2.0-alpha.12 (default: both).")
    ] = None,
    revision: Annotated[
        list[str] | None, typer.Option(metavar="DATE", help="2025-11-25 or 2026-07-28 (default: both).")
    ] = None,
    tools: Tools = None,
    mutant: Annotated[str | None, typer.Option(metavar="ID", help="On a wrong version, to see it fail.")] = None,
    json: Json = False,
) -> int:
    """Run the official suite on a server of ours and judge it; exit 4 when Node or the suite is missing."""
    from lasttick.cli.conformance import mcp

    return mcp(system=system, suites=suite or [], revisions=revision or [], tools=tools, mutant=mutant, as_json=json)


@conformance.command("install")
def conformance_install(tools: Tools = None) -> int:
    """Get Node (by pip), both suites and the Inspector (by npm), in exact versions, into one folder."""
    from lasttick.cli.conformance import install

    return install(tools)


@app.command()
def doctor(tools: Tools = None, json: Json = False) -> int:
    """What this machine can run, and how to get the rest."""
    from lasttick.cli.doctor import doctor as look

    return look(tools, as_json=json)


@app.command("mcp-token")
def mcp_token(identity_dir: IdentityDir = None) -> int:
    """Print the host agent's MCP token; made if absent."""
    from lasttick.cli.serve import print_token

    return print_token(identity_dir)


@mutants.command("list")
def mutants_list(json: Json = False) -> int:
    """List every mutant, what it breaks and who kills it."""
    from lasttick.cli.mutants import list_mutants

    return list_mutants(as_json=json)


@mutants.command("run")
def mutants_run(
    pattern: Annotated[str | None, typer.Argument(help="Part of mutant ids, or a shell pattern.")] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same matrix.")] = 1,
    workers: Annotated[str | None, typer.Option("-n", metavar="N", help="Processes to share the work.")] = None,
    others: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Of scenarios of other requirements only so many each.")
    ] = None,
    own: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Of scenarios of its requirement only so many, and the one it names."),
    ] = None,
    json: Json = False,
) -> int:
    """Run every scenario against every mutant; exit 1 for a survivor, a blunt one, or an unbroken requirement.

    With --others and --own a sample is played, spread evenly; a mutant that survives it, or looks too blunt by it, is
    played with all.
    """
    from lasttick.cli.mutants import run_mutants

    return run_mutants(pattern, seed=seed, workers=workers, as_json=json, others_max=others, own_max=own)


@bench.command("leases")
def bench_leases(
    sessions: Annotated[str, typer.Option(metavar="LIST", help="How many want devices.")] = "1,8,64",
    devices: Annotated[str, typer.Option(metavar="LIST", help="How many there are.")] = "1,16,1000",
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="A page with plots, all in one file.")] = None,
    quick: Quick = False,
    json: Json = False,
) -> int:
    """Lease stores under contention: grants, waits, fairness, double occupancy."""
    from lasttick.cli.bench import leases

    return leases(sessions=sessions, devices=devices, quick=quick, as_json=json, html=html)


@bench.command("engine")
def bench_engine(quick: Quick = False, json: Json = False) -> int:
    """The virtual loop against a bare clock-jumping one."""
    from lasttick.cli.bench import engine

    return engine(quick=quick, as_json=json)


@bench.command("calls")
def bench_calls(quick: Quick = False, json: Json = False) -> int:
    """What a lease and a trace add to a tool call."""
    from lasttick.cli.bench import calls

    return calls(quick=quick, as_json=json)


@bench.command("gateway")
def bench_gateway(quick: Quick = False, json: Json = False) -> int:
    """64 callers of the tool gateway at once: wrong answers, and what its checks and its ledger add to a call."""
    from lasttick.cli.bench import gateway

    return gateway(quick=quick, as_json=json)


@bench.command("vaultclaw")
def bench_vaultclaw(quick: Quick = False, json: Json = False) -> int:
    """500 tenants that wait for an approval at once, and one who waits ten virtual minutes."""
    from lasttick.cli.bench import vaultclaw

    return vaultclaw(quick=quick, as_json=json)


@bench.command("lineup")
def bench_lineup(quick: Quick = False, json: Json = False) -> int:
    """What the ledger adds to a permission card, over bare commits of SQLite."""
    from lasttick.cli.bench import lineup

    return lineup(quick=quick, as_json=json)
