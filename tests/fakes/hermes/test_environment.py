"""What does a child get, and what fills `${NAME}`? (contract hermes 3.1 and 3.2, gateway ruling 7; measured)"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick_fakes.hermes import HABITS, child_env
from lasttick_fakes.hermes.child_env import INHERITED_IN_ANY_CASE, with_its_folder
from lasttick_fakes.hermes.config import filled
from lasttick_fakes.model import Call, Say

from .bench import HOME, Bench, on_bench

PASSES = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "TERM", "SHELL", "TMPDIR")
NAMES = st.sampled_from([*PASSES, "XDG_DATA_HOME", "XDG_", "FOO", "path", "HERMES_HOME", "XDGX"]) | st.text(min_size=1)
ENVIRONS = st.dictionaries(NAMES, st.text(max_size=5), max_size=8)


@given(environ=ENVIRONS, listed=ENVIRONS)
def test_a_child_gets_the_closed_list_and_what_is_listed_and_nothing_else(
    environ: dict[str, str], listed: dict[str, str]
) -> None:
    got = child_env(environ, listed)
    assert listed.items() <= got.items()
    for name, value in got.items():
        passes = name in PASSES or name.startswith("XDG_") or name.upper() in INHERITED_IN_ANY_CASE
        assert name in listed or (passes and environ[name] == value)
    for name in environ:
        assert (name in got) or not (name in PASSES or name.startswith("XDG_"))


@pytest.mark.parametrize(
    "name",
    [
        "AGENT_SERVICE_SECRET",
        "HUMANWORK_ORG_ID",
        "PLATFORM_API_URL",
        "OPENAI_API_KEY",
        "HERMES_HOME",
        "FOO",
        "NO_COLOR",
    ],
)
def test_what_a_plan_counts_on_is_not_inherited(name: str) -> None:
    assert child_env({name: "x", "PATH": "/bin"}, {}) == {"PATH": "/bin"}


@pytest.mark.parametrize("name", ["TEMP", "tmp", "UserName", "OS"])
def test_names_of_another_system_pass_in_any_case(name: str) -> None:
    assert child_env({name: "x"}, {}) == {name: "x"}


@pytest.mark.parametrize(
    ("command", "path", "started", "its_path"),
    [
        ("python", "/bin", "python", "/bin"),
        ("/opt/venv/bin/python", "/usr/bin:/bin", "/opt/venv/bin/python", "/opt/venv/bin:/usr/bin:/bin"),
        ("/usr/bin/python", "/bin:/usr/bin", "/usr/bin/python", "/bin:/usr/bin"),
        ("/opt/python", "", "/opt/python", "/opt"),
        ("~/python", "/bin", "/home/u/python", "/home/u:/bin"),
    ],
)
def test_the_folder_of_a_command_comes_first_in_its_path(command: str, path: str, started: str, its_path: str) -> None:
    assert with_its_folder(command, {"HOME": "/home/u", "PATH": path}) == (
        started,
        {"HOME": "/home/u", "PATH": its_path},
    )


def test_a_server_with_a_path_is_started_with_its_folder_in_path() -> None:
    async def story(bench: Bench) -> None:
        bench.config("", ("command: child", "command: /opt/venv/child"))
        bench.programs.children["/opt/venv/child"] = bench.child
        await bench.run()
        command, _, env = bench.child.starts[0]
        assert (command, env["PATH"]) == ("/opt/venv/child", "/opt/venv:/usr/bin")

    on_bench(story)


@pytest.mark.parametrize(("version", "prefixed"), [("0.17.0", "${env:HUMANWORK_ORG_ID}"), ("0.19.0", "org-a")])
def test_the_recorded_child_environment(version: str, prefixed: str) -> None:
    async def story(bench: Bench) -> None:
        bench.version = version
        await bench.run()
        assert bench.child.starts[0][2] == {
            "PATH": "/usr/bin",
            "HOME": "/home/agent",
            "XDG_DATA_HOME": "/x",
            "ORG": "org-a",
            "UNSET": "${NOPE}",
            "EMPTY": "",
            "PREFIXED": prefixed,
        }

    on_bench(story)


def test_dotenv_fills_references_wins_and_is_not_inherited() -> None:
    async def story(bench: Bench) -> None:
        bench.files[HOME / ".env"] = "# a comment\nexport NOPE='from dotenv'\nHUMANWORK_ORG_ID=org-b\nbroken line\n\n"
        await bench.run()
        child = bench.child.starts[0][2]
        assert (child["UNSET"], child["ORG"]) == ("from dotenv", "org-b")
        assert "NOPE" not in child

    on_bench(story)


def test_without_hermes_home_it_lives_under_home_and_elsewhere_with_it() -> None:
    async def story(bench: Bench) -> None:
        for variable, folder in (("HERMES_HOME", HOME.parent / "elsewhere"), ("HERMES_HOME", HOME)):
            bench.files = {folder / "config.yaml": bench.files.popitem()[1]}
            bench.env[variable] = str(folder)
            assert (await bench.run()).stdout == "plain answer\n"
        del bench.env["HERMES_HOME"]
        assert (await bench.run()).stdout == "plain answer\n"
        bench.env["HERMES_HOME"] = ""
        assert (await bench.run()).stdout == "plain answer\n"

    on_bench(story)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet="${}NAMEenv:x", max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)


@given(value=VALUES)
def test_what_is_not_set_stays_as_it_stands(value: object) -> None:
    for habits in HABITS.values():
        assert filled(value, {}, habits) == value


def test_references_are_filled_at_any_depth_and_only_once() -> None:
    habits = HABITS["0.19.0"]
    environ = {"A": "${B}", "B": "b", "a.b-c": "odd"}
    value = {"${A}": ["x${B}y${B}", {"k": "${a.b-c}"}, "${A}", "$B ${}", 7]}
    assert filled(value, environ, habits) == {"${A}": ["xbyb", {"k": "odd"}, "${B}", "$B ${}", 7]}


@pytest.mark.parametrize("version", sorted(HABITS))
def test_the_terminal_gives_the_secret_away(version: str) -> None:
    """Ruling 10: without `-t humanwork` the model has a terminal, and the terminal nearly the agent's environment."""

    async def story(bench: Bench) -> None:
        bench.version = version
        bench.env |= {"OPENAI_API_KEY": "sk-provider", "A_LONG_TOKEN": "0123456789abcdefghij"}
        one = Call.one("terminal", command="printenv AGENT_SERVICE_SECRET")
        dump = Call.one("terminal", command="env | sort")
        bench.model.script("tell", one, dump, Call.one("terminal", command="printenv OPENAI_API_KEY"), Say("done"))
        await bench.run(argv=["hermes", "chat", "-Q", "-q", "tell"])
        first, second, third = bench.tool_messages()
        assert first == '{"output": "sekret-value", "exit_code": 0, "error": null}'
        assert "AGENT_SERVICE_SECRET=***\\n" in second, "a dump is masked by name"
        assert "A_LONG_TOKEN=012345...ghij\\n" in second
        assert "HUMANWORK_ORG_ID=org-a\\n" in second
        assert third == '{"output": "", "exit_code": 1, "error": null}', "the keys of providers are withheld"

    on_bench(story)


def test_with_the_server_alone_there_is_no_terminal() -> None:
    async def story(bench: Bench) -> None:
        bench.model.script("tell", Call.one("terminal", command="printenv AGENT_SERVICE_SECRET"), Say("{result}"))
        finished = await bench.run("tell")
        assert finished.stdout == "Tool 'terminal' does not exist. Available tools: mcp__humanwork__lookup\n"

    on_bench(story)


@pytest.mark.parametrize(
    ("command", "output", "status"),
    [
        ("echo $HUMANWORK_ORG_ID and ${EMPTY}.", "org-a and .", 0),
        ("printenv NOPE", "", 1),
        ("curl http://x", "sh: curl: not found in this toy shell", 127),
        ("env | base64", "sh: base64: not found in this toy shell", 127),
        ("", "sh: : not found in this toy shell", 127),
    ],
)
def test_the_toy_shell_knows_little_and_says_so(command: str, output: str, status: int) -> None:
    async def story(bench: Bench) -> None:
        bench.model.script("tell", Call.one("terminal", command=command), Call.one("todo"), Say("done"))
        await bench.run(argv=["hermes", "chat", "-Q", "-q", "tell"])
        shell, other = bench.tool_messages()
        assert shell == f'{{"output": "{output}", "exit_code": {status}, "error": null}}'
        assert "todo is not modelled" in other

    on_bench(story)
