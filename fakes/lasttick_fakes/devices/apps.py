"""Which apps are on a fake phone, and what is on each of their screens?

Pure data. Four small apps, enough for every leased tool to have a visible effect: text fields (messages, notes),
switches and navigation (settings), a list that scrolls (contacts). Where an item stands on the glass is `layout`'s
business. Not modelled: pop-ups, rotation, animation, a keyboard on the screen, apps that change by themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lasttick_fakes.devices.state import HOME, Choose, Effect, Focus, Go, Move, Toggle

Kind = Literal["label", "button", "field", "switch", "icon", "list", "row"]


@dataclass(frozen=True, slots=True)
class Item:
    """One thing on a screen. It shows `text`, followed by what is remembered under `shows`, if that is set."""

    id: str
    kind: Kind
    text: str = ""
    icon: str = ""
    shows: str = ""
    effect: Effect | None = None
    rows: tuple[Item, ...] = ()


@dataclass(frozen=True, slots=True)
class Screen:
    """A screen of an app. `back` is the screen that its back button shows."""

    title: str
    back: str
    items: tuple[Item, ...]


def _field(key: str, label: str) -> tuple[Item, Item]:
    """A text field and the label above it; as with real forms, a tap on the label also puts the cursor in the field."""
    return (
        Item(f"{key}-label", "label", label, effect=Focus(key)),
        Item(key, "field", shows=key, effect=Focus(key)),
    )


def _switch(key: str, label: str) -> Item:
    return Item(key, "switch", f"{label}: ", shows=key, effect=Toggle(key))


_NAMES = (
    "Ada",
    "Agnes",
    "Alan",
    "Barbara",
    "Claude",
    "Donald",
    "Dorothy",
    "Edsger",
    "Emmy",
    "Evelyn",
    "Frances",
    "Grace",
    "Hedy",
    "Ida",
    "Jean",
    "John",
    "Katherine",
    "Leslie",
    "Margaret",
    "Niklaus",
    "Radia",
    "Sophie",
    "Tony",
    "Whitfield",
)

_CHOSEN = "contacts/chosen"
_CONTACTS = tuple(
    Item(f"contacts/row-{n}", "row", name, effect=Choose(_CHOSEN, name, "contacts/person"))
    for n, name in enumerate(_NAMES)
)

APPS: dict[str, str] = {"messages": "Messages", "notes": "Notes", "settings": "Settings", "contacts": "Contacts"}
"""First screen of each app -> the name under its icon. `launch_app` takes either, in any case, and "home"."""

SCREENS: dict[str, Screen] = {
    HOME: Screen(
        title="",
        back="",
        items=tuple(Item(f"home/{app}", "icon", name, icon=app, effect=Go(app)) for app, name in APPS.items()),
    ),
    "messages": Screen(
        "Messages",
        HOME,
        (
            *_field("messages/message", "Message"),
            Item("messages/send", "button", "Send", effect=Move("messages/message", "messages/sent")),
            Item("messages/last", "label", "Sent: ", shows="messages/sent"),
        ),
    ),
    "notes": Screen(
        "Notes",
        HOME,
        (
            *_field("notes/title", "Title"),
            *_field("notes/body", "Body"),
            Item("notes/save", "button", "Save", effect=Go("notes/saved")),
        ),
    ),
    "notes/saved": Screen(
        "Saved",
        "notes",
        (
            Item("notes/saved-title", "label", "Title: ", shows="notes/title"),
            Item("notes/saved-body", "label", "Body: ", shows="notes/body"),
        ),
    ),
    "settings": Screen(
        "Settings",
        HOME,
        (
            _switch("settings/wifi", "Wi-Fi"),
            _switch("settings/bluetooth", "Bluetooth"),
            Item("settings/open-about", "button", "About", effect=Go("settings/about")),
        ),
    ),
    "settings/about": Screen(
        "About",
        "settings",
        (
            Item("settings/model", "label", "Model: fake phone"),
            Item("settings/version", "label", "Version: 1.0"),
        ),
    ),
    "contacts": Screen("Contacts", HOME, (Item("contacts/list", "list", rows=_CONTACTS),)),
    "contacts/person": Screen(
        "Contact",
        "contacts",
        (
            Item("contacts/name", "label", "Name: ", shows=_CHOSEN),
            Item("contacts/call", "button", "Call", effect=Go("contacts/calling")),
        ),
    ),
    "contacts/calling": Screen(
        "Call",
        "contacts/person",
        (
            Item("contacts/callee", "label", "Calling ", shows=_CHOSEN),
            Item("contacts/hang-up", "button", "Hang up", effect=Go("contacts/person")),
        ),
    ),
}
