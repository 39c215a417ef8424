"""What may stand in an operator's `config.yaml` before our block is merged into it? Generated files, odd but real.

People write comments behind values, indent by three, use anchors and flow maps, quote what needs no quotes, keep lines
of 300 characters, edit on another system (CRLF), and leave the last newline out. A merge must keep every such byte
outside its own block (GW-16). Each file says which traits it has, so that a test can say which it has seen.

`operator_config` gives files that are valid YAML with a mapping at the top; `broken_config` files that must be left
alone. Both are functions of the random stream they are given, of nothing else. All valid files load with PyYAML.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

SERVERS = ("github", "notion", "slack", "humanwork-old", "x.y")
OURS = "humanwork"
_LONG = "a value that no sane person would write on one line, but which a merge has no business to wrap " * 3


@dataclass(frozen=True, slots=True)
class OperatorConfig:
    """`text` as it stands in the file (its line ends included), and the names of what is special in it."""

    text: str
    traits: tuple[str, ...]


class _Draft:
    """A file while it is written: lines without ends, and traits in the order in which they came."""

    def __init__(self, stream: random.Random) -> None:
        self.stream = stream
        self.lines: list[str] = []
        self.traits: dict[str, None] = {}

    def chance(self, trait: str, likely: float = 0.5) -> bool:
        """Decide on a trait, and note it when it is there."""
        if self.stream.random() >= likely:
            return False
        self.traits[trait] = None
        return True

    def add(self, *lines: str) -> None:
        self.lines += lines

    def finished(self) -> OperatorConfig:
        ending = "\r\n" if self.chance("crlf", 0.25) else "\n"
        last = ending
        if self.chance("no last newline", 0.2):
            last = ""
            while self.lines and not self.lines[-1]:
                self.lines.pop()
        return OperatorConfig(ending.join(self.lines) + last, tuple(self.traits))


def operator_config(stream: random.Random) -> OperatorConfig:
    """A valid file. It may hold a `humanwork` block already, an operator's or an older one of ours."""
    draft = _Draft(stream)
    if draft.chance("opening comment"):
        draft.add("# Managed by hand. Please keep the order.", "#\ttabs are fine in comments: 'quotes' \"too\"", "")
    if draft.chance("document start", 0.2):
        draft.add("---")
    anchor = draft.chance("anchor", 0.4)
    if anchor:
        draft.add("x-common: &common", "  timeout: 45   # seconds", "  connect_timeout: 20")
    sections = [_model, _display, _numbers, _discovery]
    before = stream.randrange(len(sections) + 1)
    for section in sections[:before]:
        section(draft)
    _servers(draft, anchor=anchor)
    for section in sections[before:]:
        section(draft)
    if draft.chance("closing comment", 0.3):
        draft.add("", "# end of file, really")
    if draft.chance("blank lines at the end", 0.2):
        draft.add("", "   ", " ")
    return draft.finished()


def _model(draft: _Draft) -> None:
    if draft.chance("flow model", 0.3):
        draft.add('model: {default: scripted-model, provider: custom, base_url: "http://127.0.0.1:9999/v1"}  # inline')
        return
    quote = '"' if draft.chance("quoted scalars") else ""
    draft.add("model:", f"  default: {quote}scripted-model{quote}", "  provider: custom")
    draft.add("  base_url: http://127.0.0.1:9999/v1   # the scripted one", "  api_key: 'sk-test''s'")
    if draft.chance("block scalar", 0.3):
        draft.add("  notes: |", "    first line: with a colon", "", "      indented more", "    # not a comment")
    draft.add("")


def _display(draft: _Draft) -> None:
    if draft.chance("long line", 0.4):
        draft.add(f"banner: {_LONG}")
    if draft.chance("non-ascii", 0.4):
        draft.add("greeting: 'Grüße — 你好 🙂'   # ü")
    if draft.chance("folded scalar", 0.2):
        draft.add("motd: >-", "  one", "  two", "")


def _numbers(draft: _Draft) -> None:
    if draft.chance("values that change when written again", 0.4):
        draft.add("mode: 0o755", "when: 2026-01-01", "ratio: 1.0", "answer: yes", 'version: "1.10"', "nothing: ~")
    if draft.chance("odd keys", 0.2):
        draft.add('"quoted key": 1', "? complex", ": 2", "404: not found")


def _discovery(draft: _Draft) -> None:
    if draft.chance("own discovery timeout", 0.3):
        draft.add("mcp_discovery_timeout: 5   # we like it short")


def _servers(draft: _Draft, *, anchor: bool) -> None:
    """The section that a merge has to touch: absent, empty in four ways, flow, or a block."""
    shape = draft.stream.choice(("absent", "empty flow", "null", "nothing", "tilde", "flow", *["block"] * 6))
    draft.traits[f"mcp_servers {shape}"] = None
    if shape == "absent":
        return
    if shape != "block":
        value = {
            "empty flow": " {}",
            "null": " null",
            "nothing": "",
            "tilde": " ~  # none yet",
            "flow": ' {github: {command: npx, args: ["-y", "server-github"]}}',
        }[shape]
        draft.add(f"mcp_servers:{value}")
        return
    quoted = draft.chance("quoted section key", 0.15)
    comment = "   # servers" if draft.chance("comment behind the section key", 0.3) else ""
    draft.add(f"'mcp_servers':{comment}" if quoted else f"mcp_servers:{comment}")
    indent = " " * draft.stream.choice((2, 2, 2, 3, 4, 8))
    draft.traits[f"indent {len(indent)}"] = None
    names = draft.stream.sample(SERVERS, draft.stream.randint(1, 3))
    if draft.chance("humanwork present", 0.4):
        names.insert(draft.stream.randrange(len(names) + 1), OURS)
    for name in names:
        if draft.chance("comment between servers", 0.3):
            draft.add(f"{indent}# next: {name}", "# at the margin")
        if name == OURS:
            _humanwork(draft, indent)
        else:
            _server(draft, indent, name, anchor=anchor)
        if draft.chance("blank line between servers", 0.3):
            draft.add("")


def _server(draft: _Draft, indent: str, name: str, *, anchor: bool) -> None:
    inner = indent + draft.stream.choice(("  ", "    "))
    if draft.chance("flow server", 0.25):
        draft.add(
            f"{indent}{name}: {{url: 'http://127.0.0.1:1/mcp', headers: {{A: \"b: c\"}}, enabled: false}}  # flow"
        )
        return
    draft.add(f"{indent}{name}:")
    if anchor and draft.chance("merge key", 0.5):
        draft.add(f"{inner}<<: *common")
    draft.add(f"{inner}command: npx")
    if draft.chance("sequence at the key's indent", 0.5):
        draft.add(f"{inner}args:", f"{inner}- -y", f'{inner}- "server: {name}"')
    else:
        draft.add(f"{inner}args: [-y, server]")
    if draft.chance("references", 0.5):
        draft.add(f'{inner}env: {{TOKEN: "${{OPERATOR_TOKEN}}"}}')
    draft.add(f"{inner}enabled: false   # off for now")


def _humanwork(draft: _Draft, indent: str) -> None:
    """A block of that name which is there already: the operator's own keys in it must survive."""
    inner = indent + "  "
    if draft.chance("humanwork empty", 0.15):
        draft.add(f"{indent}{OURS}:")
        return
    draft.add(f"{indent}{OURS}:")
    if draft.chance("operator keys in humanwork", 0.7):
        draft.add(f"{inner}enabled: true   # do not turn off", f"{inner}timeout: 12")
    draft.add(f"{inner}command: python", f'{inner}args: ["/app/agent/humanwork_mcp_server.py"]')
    if draft.chance("old env in humanwork", 0.5):
        draft.add(f"{inner}env:", f'{inner}  PLATFORM_API_URL: "${{PLATFORM_API_URL}}"', f"{inner}  OLD: left-over")


def broken_config(stream: random.Random) -> OperatorConfig:
    """A file that no merge may touch: not valid, not a mapping, ambiguous. Its only trait says why."""
    kind = stream.choice(tuple(BROKEN))
    body = operator_config(stream).text if stream.random() < 0.5 else "model:\n  default: m\n"
    ending = "\r\n" if "\r\n" in body else "\n"
    start = body if body.endswith("\n") or not body else body + ending
    return OperatorConfig(BROKEN[kind](start).replace("\r\n", "\n").replace("\n", ending), (kind,))


BROKEN: dict[str, Callable[[str], str]] = {
    "unclosed flow": lambda body: f"{body}x-open: [1, 2\n",
    "tab as indent": lambda body: f"{body}x-tab:\n\tkey: 1\n",
    "unclosed quote": lambda body: f'{body}x-quote: "never closed\n',
    "unknown alias": lambda body: f"{body}x-alias: *nobody\n",
    "duplicate key": lambda body: f"x-twice: 1\n{_plain(body)}x-twice: 2\n",
    "section twice": lambda _: "mcp_servers:\n  github: {command: npx}\nmcp_servers:\n  notion: {command: npx}\n",
    "humanwork twice": lambda _: "mcp_servers:\n  humanwork:\n    command: a\n  humanwork:\n    command: b\n",
    "section is a list": lambda _: "mcp_servers:\n- github\n- notion\n",
    "section is text": lambda _: "mcp_servers: none at all\n",
    "humanwork is text": lambda _: "mcp_servers:\n  humanwork: later\n",
    "section is an alias": lambda _: "x-servers: &servers\n  github: {command: npx}\nmcp_servers: *servers\n",
    "humanwork is an alias": lambda _: "x-h: &h {command: a}\nmcp_servers:\n  humanwork: *h\n",
    "top is a list": lambda _: "- model\n- mcp_servers\n",
    "top is text": lambda _: "just some words\n",
    "two documents": lambda _: "model: {default: a}\n---\nmcp_servers: {}\n",
    "unknown tag": lambda _: "model: !python/object:os.system {}\nmcp_servers: {}\n",
    "control character": lambda body: f"{body}x-bell: a\x07b\n",
}


def _plain(body: str) -> str:
    """`body` behind another key: a document start would begin a second document."""
    return "".join(line for line in body.splitlines(keepends=True) if line.strip() != "---")
