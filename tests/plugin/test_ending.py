"""How a scenario ends when something it started goes wrong, or never ends."""

from __future__ import annotations

from typing import Any

STORY = """
async def broken():
    await asyncio.sleep(1)
    raise ValueError("the errand failed")

@scenario("HA-04")
async def test_unseen(world: World) -> None:
    world.start(broken())
    await world.advance(2)

@scenario("HA-04")
async def test_seen(world: World) -> None:
    task = world.start(broken())
    with pytest.raises(ValueError):
        await task

@scenario("HA-04")
async def test_cut_short(world: World) -> None:
    world.start(broken())

@scenario("HA-07")
async def test_lost_call(world: World) -> None:
    host = await world.hostagent()
    alice = await host.client("alice")
    await world.device("phone-1").hang()
    lost = alice.begin_tap("phone-1")
    await world.settle()
    await host.kill()
    assert lost.done

@scenario("HA-07")
async def test_dropped_call(world: World) -> None:
    host = await world.hostagent()
    alice = await host.client("alice")
    await world.device("phone-1").hang()
    call = alice.begin_tap("phone-1")
    await world.settle()
    call.drop()
    await world.advance(1)

@scenario("HA-07")
async def test_endless(world: World) -> None:
    await asyncio.get_running_loop().create_future()

@scenario("HA-07")
async def test_too_long(world: World) -> None:
    while True:
        await world.advance(60)

@scenario("HA-07")
async def test_the_past(world: World) -> None:
    await world.until(10)
    await world.until(9)
"""


def test_what_was_started(project: Any) -> None:
    project.write(STORY)
    ran = project.run()
    assert ran.words == {
        "unseen": "fail",
        "seen": "pass",
        "cut-short": "pass",
        "lost-call": "pass",
        "dropped-call": "pass",
        "endless": "fail",
        "too-long": "fail",
        "the-past": "fail",
    }
    entries = ran.scenarios
    assert entries["unseen"]["reason"] == "the errand failed"
    assert 'raise ValueError("the errand failed")' in ran.out
    assert entries["endless"]["reason"].startswith("no task can run and no timer is set: a deadlock")
    assert entries["too-long"]["reason"].startswith("virtual time would pass its bound of 3600 s")
    assert "lies 1 s in the past" in entries["the-past"]["reason"]
    ends = {
        name: [event["data"]["reason"] for event in ran.events(name) if event["kind"] == "call.end"]
        for name in ("lost-call", "dropped-call")
    }
    assert ends == {"lost-call": ["lost"], "dropped-call": ["dropped"]}
    assert "exception was never retrieved" not in ran.out + ran.err


def test_a_part_that_does_not_start_fails_the_scenario(project: Any) -> None:
    project.write("""
@scenario("HA-03")
async def test_corrupt(world: World) -> None:
    folder = world.path / "host-1"
    folder.mkdir()
    (folder / "host_mcp_token.json").write_text("{")
    await world.hostagent()
""")
    entry = project.run().scenarios["corrupt"]
    assert entry["verdict"] == "fail"
    assert "host_mcp_token.json" in entry["reason"]


def test_a_skip_inside_a_scenario_is_not_applicable(project: Any) -> None:
    project.write("""
@scenario("HA-03")
async def test_skips(world: World) -> None:
    await world.hostagent()
    pytest.skip("no such machine")
""")
    entry = project.run().scenarios["skips"]
    assert (entry["verdict"], entry["reason"]) == ("not_applicable", "no such machine")


def test_a_broken_fixture_is_an_error_of_pytest_and_no_verdict(project: Any) -> None:
    project.write("""
@pytest.fixture
def broken():
    raise OSError("no disk")

@scenario("HA-03")
async def test_needs_it(world: World, broken) -> None: ...
""")
    ran = project.run()
    assert ran.code == 1
    assert "1 error" in ran.out
    assert not ran.folder.exists()


INTERRUPTED = """
@scenario("HA-03")
async def test_before(world: World) -> None: ...

@scenario("HA-03")
async def test_stopped(world: World) -> None:
    await world.hostagent()
    raise {error}

@scenario("HA-03")
async def test_then(world: World) -> None: ...
"""


def test_an_interrupt_ends_the_run_and_keeps_what_was_judged(project: Any) -> None:
    project.write(INTERRUPTED.format(error="KeyboardInterrupt"))
    ran = project.run_apart()
    assert ran.code == 2, ran.out
    assert "INTERNALERROR" not in ran.out + ran.err
    assert ran.words == {"before": "pass"}


def test_a_scenario_that_exits_has_failed(project: Any) -> None:
    project.write(INTERRUPTED.format(error="SystemExit(3)"))
    ran = project.run()
    assert ran.code == 1, ran.out
    assert ran.words == {"before": "pass", "stopped": "fail", "then": "pass"}


def test_a_check_that_fails_in_a_task_nobody_waits_for_is_a_failure(project: Any) -> None:
    project.write(
        """
@scenario("HA-04")
async def test_unseen(world: World) -> None:
    async def check() -> None:
        assert False, "seen by nobody"

    task = asyncio.create_task(check())
    await world.settle()
    assert task.done()

@scenario("HA-04")
async def test_asked_about(world: World) -> None:
    async def check() -> None:
        assert False, "expected"

    task = asyncio.create_task(check())
    await world.settle()
    assert task.exception() is not None
"""
    )
    ran = project.run()
    assert ran.words == {"unseen": "fail", "asked-about": "pass"}
    assert ran.scenarios["unseen"]["reason"].startswith("seen by nobody")
