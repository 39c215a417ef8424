"""Our entry gets into any configuration an operator may have written, and every character outside of it stays."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from lasttick.checks.boot_config import ARGS, NAMES, only_added
from lasttick.reference.gateway import config_merge
from lasttick.reference.gateway.config_merge import merged, quoted, same, server_entry
from lasttick.reference.gateway.config_text import TextError

from .config_oracle import PYTHON, with_ours

OURS = server_entry(PYTHON, ARGS)

BLOCK = """\
mcp_servers:
  humanwork:
    command: "/opt/agent/bin/python"
    args: ["-I", "-m", "lasttick.reference.gateway.humanwork"]
    env:
      HUMANWORK_ORG_ID: "${HUMANWORK_ORG_ID}"
      HUMANWORK_RUN_ID: "${HUMANWORK_RUN_ID}"
      HUMANWORK_MCP_TOOLS: "${HUMANWORK_MCP_TOOLS}"
      PLATFORM_API_URL: "${PLATFORM_API_URL}"
      AGENT_SERVICE_SECRET: "${AGENT_SERVICE_SECRET}"
    tools:
      resources: false
      prompts: false
"""
TIMEOUT = "mcp_discovery_timeout: 30\n"


def test_a_new_file_says_just_this() -> None:
    assert merged("", OURS) == BLOCK + TIMEOUT


def test_the_oracle_sees_a_lost_character() -> None:
    assert only_added("abcd", "aXbcYd")
    assert not only_added("abcd", "aXcYd")
    assert not only_added("abcd", "aXbYcZd")


KEPT = {
    "comment only": "# nothing yet\n",
    "no line break at the end": "model:\n  default: m",
    "a document marker": "---\nmodel: m\n...\n",
    "an empty document": "---\n",
    "a mark of the byte order": "\ufeffmodel: m\n",
    "CRLF": "model: m\r\nmcp_servers:\r\n  gh:\r\n    command: x\r\n\r\n# end\r\n",
    "carriage returns alone": "model: m\rmcp_servers:\r  gh: {}\r",
    "an empty flow map": "model: m\nmcp_servers: {}\napprovals: {mode: manual}\n",
    "servers in a flow map": "mcp_servers: {gh: {command: x}, # ours\n  fs: {command: y}}\n",
    "the whole file a flow map": "{model: {default: m},\n mcp_servers: {gh: {command: x}}}\n",
    "an empty file as a flow map": "{}\n",
    "servers without a value": "mcp_servers:\n# next\nmodel: m\n",
    "servers all commented out": "mcp_servers:\n  # gh:\n  #   command: x\n\nmodel: m\n",
    "remarks of the last": "mcp_servers:\n  gh:\n    command: x\n    # args: []\n  # fs: {}\n# model\nmodel: m\n",
    "an odd indentation": "   model: m\n   mcp_servers:\n          gh:\n           command: x\n   z: 1\n",
    "a list at the column of its key": "mcp_servers:\n  gh:\n    command: x\n    args:\n    - a\n    -   b\nz:\n- 1\n",
    "a kept block scalar at the end": "mcp_servers:\n  gh:\n    note: |+\n      a\n\n\n",
    "an open block scalar at the end": "model: m\nmcp_servers:\n  gh:\n    note: |\n      a",
    "an open folded scalar at the end": "note: >\n  a\n  b",
    "an alias at the end": "base: &b {command: x}\nmcp_servers:\n  gh: *b\n",
    "a server without a value": "mcp_servers:\n  gh:\nz: 1\n",
    "merge keys": "base: &b {timeout: 5}\nmcp_servers:\n  gh:\n    <<: *b\n    command: x\n",
    "long lines": "note: '" + "word " * 400 + "'\nmcp_servers:\n  gh: {command: x}\n",
    "quotes of both kinds": "a: 'it''s'\nb: \"x\\ty\"\nmcp_servers: {'gh': {\"command\": 'x'}}\n",
    "an explicit key elsewhere": "? model\n: m\nz: 1\n",
    "tags of the core schema": "a: !!str 1\nmcp_servers: !!map\n  gh: {}\n",
    "other line separators in a comment": "# a\u2028model: m\nb: 1\n",
    "our timeout is there": "mcp_discovery_timeout: 5\n",
    "our timeout is there as nothing": "mcp_discovery_timeout:\nmodel: m\n",
}


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_nothing_is_changed_but_ours_is_added(text: str) -> None:
    result = merged(text, OURS)
    assert yaml.safe_load(result) == with_ours(yaml.safe_load(text))
    assert only_added(text, result)
    assert merged(result, OURS) is result, "a second boot writes the same bytes"


def test_it_stands_where_a_person_would_put_it() -> None:
    above = "model: m\n\nmcp_servers:\n  # code\n  gh:\n    command: x  # why\n    # args: []\n"
    below = "\n# how it looks\ndisplay: {}\n# end\n"
    assert merged(above + below, OURS) == above + BLOCK.removeprefix("mcp_servers:\n") + below + TIMEOUT


def test_it_stands_behind_a_block_scalar_that_is_closed() -> None:
    assert merged("a: |\n  x\n", OURS) == "a: |\n  x\n" + BLOCK + TIMEOUT
    assert merged("a: |\n  x", OURS) == BLOCK + TIMEOUT + "a: |\n  x"


def test_a_flow_map_has_no_comma_too_many() -> None:
    assert merged("{ }", OURS).endswith("mcp_discovery_timeout: 30 }")
    assert merged("{a: 1}", OURS).endswith("mcp_discovery_timeout: 30, a: 1}")


@pytest.mark.parametrize(
    "text",
    [
        "mcp_servers: ~\n",
        "model: m\nmcp_servers: null # none\nz: 1\n",
        "mcp_servers: {humanwork: ~, gh: {}}\n",
        "mcp_servers:\n  humanwork: !!null null\n",
        "mcp_servers:\n  humanwork: # later\n  gh: {}\n",
    ],
)
def test_a_null_gives_way(text: str) -> None:
    result = merged(text, OURS)
    assert yaml.safe_load(result) == with_ours(yaml.safe_load(text))
    assert all(comment in result for comment in re.findall("#.*", text))
    assert merged(result, OURS) is result


def test_lines_are_broken_as_the_file_breaks_them() -> None:
    result = merged("model: m\r\n", OURS)
    assert result.count("\n") == result.count("\r\n") == 15


REFUSED = {
    "a list": "- a\n- b\n",
    "a text": "just words\n",
    "a number": "7\n",
    "an explicit null": "~\n",
    "no YAML": "model: [\n",
    "a tab as indentation": "model:\n\tdefault: m\n",
    "two documents": "model: m\n---\nmodel: n\n",
    "a key twice": "model: m\nmodel: n\n",
    "a key twice further down": "a:\n- b: {c: 1, 'c': 2}\n",
    "a key twice by meaning": "a: {1: x, 0x1: y}\n",
    "two merge keys": "a: &a {x: 1}\nb: {<<: *a, <<: *a}\n",
    "an unknown tag": "model: !secret m\n",
    "an unknown alias": "model: *m\n",
    "an impossible date": "day: 2026-02-30\n",
    "an impossible number": "n: !!int many\n",
    "an unhashable key": "{[a]: b}\n",
    "a control character": "model: a\x07b\n",
    "servers that are a list": "mcp_servers:\n- gh\n",
    "servers that are a text": "mcp_servers: gh\n",
    "ours as a text": "mcp_servers:\n  humanwork: python\n",
    "ours as a list": "mcp_servers:\n  humanwork: []\n",
    "ours as a truth value": "mcp_servers:\n  humanwork: false\n",
    "servers are an alias": "base: &b {gh: {}}\nmcp_servers: *b\n",
    "ours is an alias": "base: &b {command: x}\nmcp_servers: {humanwork: *b}\n",
    "our tools are an alias": "t: &t {resources: true}\nmcp_servers: {humanwork: {tools: *t}}\n",
    "servers are used elsewhere": "mcp_servers: &s {gh: {}}\nother: *s\n",
    "our env is used elsewhere": "mcp_servers:\n  humanwork:\n    env: &e {A: b}\nother: *e\n",
    "ours would hide what is merged in": "base: &b {humanwork: {timeout: 5}}\nmcp_servers:\n  <<: *b\n",
    "a recursive list": "a: &a [*a]\nmcp_servers: &s {gh: *s}\n",
    "an alias as a key": "a: &x k\nb:\n  *x : 1\n*x : 2\n",
    "a document that goes on after its end": "---\n...\n",
    "too deep": "a: " + "[" * 3000 + "]" * 3000,
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_merged_safely_is_refused(text: str) -> None:
    with pytest.raises(TextError):
        merged(text, OURS)


@pytest.mark.parametrize(
    ("case", "path"),
    [
        ("servers are an alias", "mcp_servers"),
        ("ours is an alias", "mcp_servers.humanwork"),
        ("our tools are an alias", "mcp_servers.humanwork.tools"),
    ],
)
def test_an_alias_in_our_way_is_named(case: str, path: str) -> None:
    with pytest.raises(TextError, match=f"^has an alias at {path}, whose other end would change with it$"):
        merged(REFUSED[case], OURS)


def test_a_refusal_says_where_but_quotes_nothing() -> None:
    with pytest.raises(TextError) as refused:
        merged("a: 1\napi_key: sk-very-secret: [\n", OURS)
    assert str(refused.value) == "is not YAML that can be read (line 2, column 24)"
    with pytest.raises(TextError) as refused:
        merged("sk-secret: 1\n\nsk-secret: 2\n", OURS)
    assert str(refused.value) == "has a key twice in one mapping (lines 1 and 3)"


def test_an_alias_of_ours_that_is_right_already_is_left() -> None:
    text = (
        'e: &e {HUMANWORK_ORG_ID: "${HUMANWORK_ORG_ID}", HUMANWORK_RUN_ID: "${HUMANWORK_RUN_ID}", '
        'HUMANWORK_MCP_TOOLS: "${HUMANWORK_MCP_TOOLS}", PLATFORM_API_URL: "${PLATFORM_API_URL}", '
        'AGENT_SERVICE_SECRET: "${AGENT_SERVICE_SECRET}"}\n'
        "mcp_servers:\n  humanwork:\n    env: *e\n    command: &c python\n"
    )
    result = merged(text, OURS)
    assert "    env: *e\n" in result
    assert yaml.safe_load(result) == with_ours(yaml.safe_load(text))


OURS_BEFORE = {
    "all wrong, in block style": (
        "enabled: false # for now\n"
        "command: |\n  foo\n"
        "env:\n  # old\n  A: b\n  SECRET: very\n"
        "args:\n- a\n- b   # c\n"
        "tools:\n  include: [x]   # only this\n  resources: yes\n"
        "timeout: 300\n"
    ),
    "in flow style": "{enabled: false, command: foo, args: [a], env: {A: b}, tools: {resources: true, exclude: [y]}}",
    "nothing of ours": "timeout: 300\n# more\n",
    "values that are not there": "command:\nargs: # none\nenv:\ntools:\n",
    "values that are null": "command: ~\nargs: null\nenv: ~\ntools: ~\n",
    "of another type": "command: [python]\nargs: '-m x'\nenv: [A]\ntools: []\n",
    "a switch that is only nearly false": "tools: {resources: 'false', prompts: 0}\n",
    "one argument is missing": 'command: "/opt/agent/bin/python"\nargs: ["-I", "-m"]\n',
    "anchors that nobody uses": "command: &c foo\nenv: &e {A: b}\ntools: &t {prompts: true}\n",
    "merged from elsewhere": "<<: *base\nenabled: true\n",
}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("body", OURS_BEFORE.values(), ids=OURS_BEFORE)
def test_ours_is_asserted_again_and_the_operators_keys_in_it_survive(body: str, newline: str) -> None:
    flow = body.startswith("{")
    block = f" {body}\n" if flow else "\n" + "".join(f"     {line}\n" for line in body.splitlines())
    before = (
        "base: &base {connect_timeout: 7}\nmcp_discovery_timeout: 9\nmcp_servers:\n   gh: {command: x}\n   humanwork:"
    )
    after = "   fs:\n      command: y\n# end\nmodel: m\n"
    before, block, after = (part.replace("\n", newline) for part in (before, block, after))
    result = merged(before + block + after, OURS)
    assert yaml.safe_load(result) == with_ours(yaml.safe_load(before + block + after))
    assert result.startswith(before)
    assert result.endswith(after)
    assert merged(result, OURS) is result
    comments = re.findall("#[^\r\n]*", result)
    kept = [comment for comment in re.findall("#[^\r\n]*", body) if comment != "# old"]
    assert comments == [*kept, "# end"], "all but the one inside a value of ours that was wrong"


def test_env_is_exactly_ours() -> None:
    text = "mcp_servers:\n  humanwork:\n    env: {EXTRA: x, HUMANWORK_ORG_ID: org-a}\n"
    assert yaml.safe_load(merged(text, OURS))["mcp_servers"]["humanwork"]["env"] == {n: f"${{{n}}}" for n in NAMES}


def test_no_secret_is_written_only_its_name() -> None:
    assert OURS["env"]["AGENT_SERVICE_SECRET"] == "${AGENT_SERVICE_SECRET}"
    assert OURS["tools"] == {"resources": False, "prompts": False}


@given(st.text())
@example('a"b\\c\x07\x85\u2028\ud800\U0001f600${X}: #')
def test_a_quoted_text_is_read_back(text: str) -> None:
    assert yaml.safe_load(f"a: {{b: {quoted(text)}}}") == {"a": {"b": text}}


def test_the_entry_is_as_odd_as_its_interpreter() -> None:
    ours = server_entry('/opt/a "b" {c}: #d/\udcffpython', [])
    assert yaml.safe_load(merged("", ours))["mcp_servers"]["humanwork"]["command"] == '/opt/a "b" {c}: #d/\udcffpython'


def test_same_is_same_in_type_and_through_cycles() -> None:
    nan = float("nan")
    one: list[Any] = [1, {"a": nan, "d": datetime.date(2026, 1, 1)}]
    other: list[Any] = [1, {"d": datetime.date(2026, 1, 1), "a": float("nan")}]
    one.append(one)
    other.append(other)
    assert same(one, other)
    for left, right in [(1, True), (1, 1.0), ([1], [1, 2]), ({"a": 1}, {"b": 1}), ({"a": 1}, {"a": 2}), (None, {})]:
        assert not same(left, right)


# Any text at all: it is merged and says what it said, and ours; or it is refused.
SNIPPETS = [
    "mcp_servers", "humanwork", "mcp_discovery_timeout", "tools", "env", "command", "args", "resources", "a", "b", "1",
    "true", "~", "{}", "[]", "{", "}", "[", "]", ",", ": ", ":", "\n", "\n", "\n  ", "\n    ", "\r\n", "- ", "? ", "#",
    " # c", "&x ", "*x", "<<", "|\n", ">-\n", "|+\n", "'", '"', "!!str ", "!t ", "---\n", "...\n", "\t", " ", "%",
]  # fmt: skip
WHOLE = [
    *KEPT.values(),
    BLOCK,
    "base: &x {a: b}\nmcp_servers:\n  humanwork:\n    <<: *x\n    env: {A: b}\n    tools:\n      include: [a]\n",
    "mcp_servers: {a: &x {b: 1}, humanwork: {command: a, tools: {resources: true}, args: [1]}}\n",
]


@st.composite
def broken(draw: st.DrawFn) -> str:
    """A good configuration with pieces taken out and put in."""
    text = draw(st.sampled_from(WHOLE))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.sampled_from(["", *SNIPPETS])) + text[at + draw(st.integers(0, 4)) :]
    return text


YAMLISH = st.lists(st.sampled_from(SNIPPETS), max_size=24).map("".join) | broken()


@given(YAMLISH)
@example("{mcp_servers}")
@example("{mcp_servers: }")
@example("mcp_servers: {humanwork}")
@example("mcp_servers: &x\n")
@example("? mcp_servers\n")
@example("- mcp_servers:\n  - a")
@example("&x mcp_servers: {}\n*x : {}")
def test_any_text_is_merged_or_refused(text: str) -> None:
    try:
        result = merged(text, OURS)
    except TextError:
        return
    assert yaml.safe_load(result) == with_ours(yaml.safe_load(text))
    assert merged(result, OURS) is result


# What operators write: every key its own style, in any order.
WORDS = st.text("abcdefgh -", min_size=1, max_size=12).map(lambda text: text.strip(" -") or "w")
SCALARS = st.one_of(
    WORDS,
    WORDS.map(lambda word: f"'{word}: it''s'"),
    WORDS.map(lambda word: f'"{word} \\"x\\" \\u00e9 #no"'),
    st.sampled_from(["7", "0x1F", "true", "~", "1e3", "2026-01-01", "${TOKEN}x", "", "é漢"]),
    WORDS.map(lambda word: f"{word} " * 60 + "end"),
)
COMMENT = st.sampled_from(["", "", "", "  # why: {not a map}", " #"])


def flow_maps(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    plain = inner.filter(lambda text: not set(text) & set("${},"))
    return st.lists(plain, max_size=3).map(
        lambda values: "{" + ", ".join(f"k{n}: {value}" for n, value in enumerate(values)) + "}"
    )


@st.composite
def entry_lines(draw: st.DrawFn, name: str, depth: int) -> list[str]:
    """Lines of one `name: value`, not indented."""
    kind = draw(st.sampled_from(["scalar", "flow", "literal", "list", "mapping"] if depth else ["scalar", "flow"]))
    comment = draw(COMMENT)
    if kind == "scalar":
        return [f"{name}: {draw(SCALARS)}{comment}"]
    if kind == "flow":
        return [f"{name}: {draw(flow_maps(SCALARS))}{comment}"]
    if kind == "literal":
        style = draw(st.sampled_from(["|", "|-", "|+", ">", ">-", ">+"]))
        lines = draw(st.lists(st.sampled_from(["text", "  more", "# no comment", "a: b"]), min_size=1, max_size=3))
        return [f"{name}: {style}", *(f"   {line}" for line in [lines[0].strip(), *lines[1:]]), *draw(BLANKS)]
    if kind == "list":
        pad = " " * draw(st.sampled_from([0, 2]))
        return [f"{name}:{comment}", *(f"{pad}- {value}" for value in draw(st.lists(SCALARS, min_size=1, max_size=3)))]
    indent = " " * draw(st.integers(1, 6))
    return [f"{name}:{comment}", *(f"{indent}{line}" if line else line for line in draw(mapping_lines(depth - 1)))]


BLANKS = st.sampled_from([[], [], [""], ["", ""]])
REMARKS = st.sampled_from([[], [], ["# a remark"], ["", "#mcp_servers: {}", ""], ["      # far in"]])


@st.composite
def mapping_lines(draw: st.DrawFn, depth: int, names: tuple[str, ...] = ()) -> list[str]:
    lines: list[str] = []
    chosen = names or tuple(f"key{n}" for n in range(draw(st.integers(1, 3))))
    for name in chosen:
        lines += draw(REMARKS)
        lines += draw(entry_lines(name, depth))
    return [*lines, *draw(st.sampled_from([[], ["# last"], ["  # deeper"]]))]


@st.composite
def operator_configs(draw: st.DrawFn) -> str:
    lines = draw(st.sampled_from([[], ["# Hermes"], ["---"], ["---", "# Hermes", ""]]))
    parts: list[list[str]] = [draw(entry_lines(f"top{n}", 2)) for n in range(draw(st.integers(0, 3)))]
    servers = draw(st.sampled_from(["none", "empty", "flow", "block", "anchored"]))
    if servers == "empty":
        parts.append([draw(st.sampled_from(["mcp_servers:", "mcp_servers: {}", "mcp_servers:   # none yet"]))])
    elif servers == "flow":
        parts.append(["mcp_servers: {github: {command: npx, args: [-y]},", "   notion: {url: 'http://127.0.0.1/'}}"])
    elif servers == "block":
        indent = " " * draw(st.integers(1, 7))
        inner = draw(mapping_lines(1, ("github", "notion", "slack")[: draw(st.integers(1, 3))]))
        parts.append(["mcp_servers:", *(f"{indent}{line}" if line else line for line in inner)])
    elif servers == "anchored":
        parts.append(["defaults: &d {timeout: 5}", "mcp_servers:", "  github:", "    <<: *d", "  notion: *d"])
    if draw(st.booleans()):
        parts.append([f"mcp_discovery_timeout: {draw(st.integers(1, 60))}"])
    for part in draw(st.permutations(parts)):
        lines += [*draw(REMARKS), *part]
    indent = " " * draw(st.sampled_from([0, 0, 0, 1, 4]))
    lines = [f"{indent}{line}" if line and line != "---" else line for line in lines]
    newline = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    return newline.join(lines) + draw(st.sampled_from([newline, newline, "", newline * 3]))


def readable(text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return ...


@given(operator_configs())
def test_what_operators_write_is_kept_byte_for_byte(text: str) -> None:
    before = readable(text)
    if not (before is None or isinstance(before, dict)):
        return
    result = merged(text, OURS)
    assert yaml.safe_load(result) == with_ours(before)
    assert only_added(text.replace("null", "~"), result)
    assert merged(result, OURS) is result


@given(operator_configs(), WORDS, WORDS)
def test_it_commutes_with_an_operators_edit_elsewhere(text: str, one: str, other: str) -> None:
    mark = "operators_own: "
    joint = "" if text.endswith(("\n", "\r")) or not text else "\n"
    column = re.search(r"^( *)(?:top|mcp|defaults)", text, re.MULTILINE)
    text = f"{text}{joint}{'' if column is None else column[1]}{mark}{one}\n"
    if not isinstance(readable(text), Mapping):
        return
    changed = text.replace(mark + one, mark + other)
    assert merged(text, OURS).replace(mark + one, mark + other) == merged(changed, OURS)


def test_a_merge_that_says_too_much_is_never_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last look is at the result itself, whatever made it."""
    monkeypatch.setattr(config_merge, "_spliced", lambda text, edits: BLOCK + TIMEOUT + "model: n\n")
    with pytest.raises(TextError, match="without a change to something else"):
        merged("model: m\n", OURS)
