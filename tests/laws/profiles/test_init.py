"""A shipped profile is written where nothing is, and loads once its variables are set."""

from __future__ import annotations

import inspect
import json
import re
import tomllib
from pathlib import Path

import pytest

from lasttick.laws.binding import row
from lasttick.laws.conditions import outcome_of
from lasttick.laws.effects import effects_of
from lasttick.laws.profiles.init import InitError, profile_text, profiles, write_profile, write_schema
from lasttick.laws.profiles.load import ProfileError, load, loads
from lasttick.laws.reply import Reply, find
from lasttick.laws.servers.serving import run_recorder
from lasttick.laws.templates import fill, fill_path
from lasttick.model.lease import Holder
from lasttick.reference.hostagent import tools
from lasttick.reference.hostagent.devices import with_status
from lasttick.requirements import load_catalogue
from lasttick_fakes.devices.log import LogEntry

URL = "http://127.0.0.1:4700/mcp"
SET = {
    "seed-hostagent": ["LASTTICK_TARGET_URL", "LASTTICK_TOKEN"],
    "seed-gateway": [
        "LASTTICK_ADMIN_TOKEN",
        "LASTTICK_AGENT_SECRET",
        "LASTTICK_OTHER_TOKEN",
        "LASTTICK_RUNNER_TOKEN",
        "LASTTICK_TARGET_URL",
    ],
    "seed-vaultclaw": [
        "LASTTICK_AGENT_TOKEN",
        "LASTTICK_APPROVER_TOKEN",
        "LASTTICK_OTHER_AGENT_TOKEN",
        "LASTTICK_OTHER_APPROVER_TOKEN",
        "LASTTICK_SOURCE_TOKEN",
        "LASTTICK_TARGET_URL",
    ],
    "seed-lineup": ["LASTTICK_TARGET_URL"],
    "mcp-gateway": ["GATEWAY_URL", "GATEWAY_TOKEN_ALICE", "GATEWAY_TOKEN_BOB"],
    "lease-queue": ["LAB_URL", "LAB_TOKEN_ALICE", "LAB_TOKEN_BOB"],
    "approval-http": ["AGENT_URL", "AGENT_TOKEN", "DECIDER_TOKEN"],
}


def environ(name: str) -> dict[str, str]:
    return {variable: URL if variable.endswith("URL") else f"sesame-{variable}" for variable in SET[name]}


def test_what_is_shipped() -> None:
    assert profiles() == sorted(SET)


@pytest.mark.parametrize("name", sorted(SET))
def test_each_loads_once_its_variables_are_set(name: str, tmp_path: Path) -> None:
    path = tmp_path / "lasttick.toml"
    write_profile(name, path)
    assert path.read_text(encoding="utf-8") == profile_text(name)
    loaded = load(path, environ(name))
    assert sorted(loaded.secrets) == sorted(variable for variable in SET[name] if not variable.endswith("URL"))
    with pytest.raises(ProfileError) as caught:
        load(path, {})
    told = [re.search(r"variable (\w+) is not set", problem.what) for problem in caught.value.problems]
    assert sorted(match.group(1) for match in told if match) == sorted(SET[name])


@pytest.mark.parametrize("name", sorted(name for name in SET if not name.startswith("seed-")))
def test_every_key_of_a_template_is_commented(name: str) -> None:
    commented = False
    for line in profile_text(name).splitlines():
        if line.startswith(("#", "[")):
            commented = True
        elif not line:
            commented = False
        else:
            assert commented or "#" in line, line


@pytest.mark.parametrize("name", sorted(SET))
def test_commented_out_lines_are_toml_too(name: str) -> None:
    for line in profile_text(name).splitlines():
        match = re.fullmatch(r"# (\[.*\]|\w+ = .*)", line)
        if match is not None:
            tomllib.loads(match.group(1))


def test_what_the_host_agents_profile_says() -> None:
    profile = loads(profile_text("seed-hostagent"), "f", environ("seed-hostagent")).profile
    assert profile.profile == "seed-hostagent"
    assert list(profile.callers) == ["alice", "bob", "carol", "stranger"]
    assert (profile.lease.ttl_s, profile.lease.renewed_by) == (60.0, ("use",))
    acquire = profile.reach("lease.acquire")
    assert acquire == profile.reach("lease.renew") == profile.reach("lease.use")
    assert acquire is not None
    names = {"resource": "phone-1", "mark_number": 7.25, "hold_ms": 1500}
    assert fill(acquire.args, names) == {
        "device_id": "phone-1",
        "x1": 7.25,
        "y1": 1,
        "x2": 7.25,
        "y2": 1,
        "duration_ms": 1500,
    }
    assert profile.stands_for("lease.release") == "session.end"
    assert profile.implied("session.end")


def test_the_host_agent_and_its_devices_answer_as_the_profile_reads_them() -> None:
    profile = loads(profile_text("seed-hostagent"), "f", environ("seed-hostagent")).profile
    use, holder, effects = (profile.reach(verb) for verb in ("lease.use", "lease.holder", "effects"))
    assert use is not None
    assert holder is not None
    assert effects is not None
    arguments = fill(use.args, {"resource": "phone-1", "mark_number": 7.25, "hold_ms": 60_000})
    tools.check_arguments(str(use.tool), arguments)
    entry = LogEntry(1, 5, "phone-1", "start", 1, "swipe", arguments, None).as_json()
    assert {name: find(entry, pointer) for name, pointer in effects.out.items()} == {
        "mark": 7.25,
        "at_ns": 5,
        "resource": "phone-1",
        "kind": "start",
        "call": 1,
        "args": arguments,
    }
    end = LogEntry(2, 1_500_000_005, "phone-1", "end", 1, "swipe", {}, None).as_json()
    (effect,) = effects_of(row(effects, one) for one in (entry, end))
    assert (effect.at, effect.end) == (5e-9, pytest.approx(1.5))
    seen = with_status({"device_id": "phone-1", "health": "ok"}, Holder("mcp", "session"), None)
    assert {name: find(seen, pointer) for name, pointer in holder.out.items()} == {
        "resource": "phone-1",
        "held": "busy",
        "by": "mcp",
    }
    free = with_status({"device_id": "phone-1", "health": "ok"}, None, None)
    assert find(free, holder.out["held"]) in holder.states["free"]
    assert find(free, holder.out["by"]) is None


def test_the_host_agents_ttl_and_devices_are_settings() -> None:
    text = profile_text("seed-hostagent")
    given = {**environ("seed-hostagent"), "LASTTICK_TTL_S": "2", "LASTTICK_DEVICES_URL": "http://127.0.0.1:9"}
    loaded = loads(text, "f", given)
    assert loaded.profile.lease.ttl_s == 2.0
    assert loaded.profile.effects is not None
    assert fill_path(str(loaded.profile.effects.http), {}) == "GET http://127.0.0.1:9/v1/log"
    assert list(loaded.secrets) == ["LASTTICK_TOKEN"]
    default = loads(text, "f", environ("seed-hostagent")).profile.effects
    assert default is not None
    assert default.http == "GET /devices/v1/log"


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (Reply(False, 200, error={"code": -32000, "data": {"reason": "device_busy"}}), "busy"),
        (Reply(False, 200, error={"code": -32001, "data": {"reason": "no_session"}}), "denied"),
        (Reply(False, 404, error={"code": -32600, "message": "Session not found"}), "denied"),
        (Reply(False, 401), "denied"),
        (Reply(False, 200, error={"code": -32000, "data": {"reason": "driver_error"}}), "error"),
        (Reply(True, 200, body={"ok": True}), "ok"),
    ],
)
def test_what_the_host_agents_answers_mean(reply: Reply, outcome: str) -> None:
    profile = loads(profile_text("seed-hostagent"), "f", environ("seed-hostagent")).profile
    assert outcome_of(reply, profile.outcomes) == outcome


@pytest.mark.parametrize(("name", "status"), [("lease-queue", 404), ("lease-queue", 410), ("mcp-gateway", 404)])
def test_what_is_gone_is_denied_to_any_verb(name: str, status: int) -> None:
    profile = loads(profile_text(name), "f", environ(name)).profile
    assert outcome_of(Reply(False, status), profile.outcomes) == "denied"


def test_a_template_finds_the_recorder_where_it_listens_by_itself() -> None:
    port = inspect.signature(run_recorder).parameters["port"].default
    for name in ("mcp-gateway", "approval-http"):
        effects = loads(profile_text(name), "f", environ(name)).profile.effects
        assert effects is not None
        assert effects.http == f"GET http://127.0.0.1:{port}/effects"
        assert "serve recorder --port" not in profile_text(name)


def test_what_depends_on_the_tools_of_a_gateway_is_marked() -> None:
    lines = profile_text("mcp-gateway").splitlines()
    for start in ('http = "GET ${LASTTICK_RECORDER_URL', "out = {", "args = {"):
        assert [line for line in lines if line.startswith(start) and "# <-" not in line] == []


@pytest.mark.parametrize("name", sorted(SET))
def test_a_template_has_laws_to_play(name: str) -> None:
    profile = loads(profile_text(name), "f", environ(name)).profile
    sections = {verb.partition(".")[0] for verb in profile.bound_verbs()}
    built = [law.id for law in load_catalogue().laws if law.planned is None]
    assert any(id_.partition("/")[0] in sections - {"session"} for id_ in built)


def test_an_unknown_profile_lists_the_known() -> None:
    for call in (lambda: profile_text("lease-que"), lambda: write_profile("lease-que", Path("nowhere"))):
        with pytest.raises(InitError) as caught:
            call()
        assert str(caught.value) == (
            "there is no profile 'lease-que'\n"
            "  expected: one of approval-http, lease-queue, mcp-gateway, seed-gateway, seed-hostagent, "
            "seed-lineup, seed-vaultclaw\n"
            "  next: did you mean lease-queue?"
        )
    assert caught.value.exit_code == 2
    assert not Path("nowhere").exists()
    with pytest.raises(InitError, match="nearest to your system"):
        profile_text("../load")


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "lasttick.toml"
    path.write_text("mine")
    for call in (lambda: write_profile("lease-queue", path), lambda: write_schema(path)):
        with pytest.raises(InitError, match="is there already") as caught:
            call()
        assert "\n  next: remove " in str(caught.value)
    assert path.read_text() == "mine"


@pytest.mark.parametrize("name", ["missing/lasttick.toml", "a\0b"])
def test_where_nothing_can_be_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(InitError, match="can not be written") as caught:
        write_profile("lease-queue", tmp_path / name)
    assert "\n  expected: a folder that you may write to\n  next: give another path" in str(caught.value)


def test_the_schema_is_written_as_json(tmp_path: Path) -> None:
    path = tmp_path / "lasttick.schema.json"
    write_schema(path)
    assert json.loads(path.read_text())["title"] == "lasttick profile"
    assert path.read_text().endswith("}\n")
