"""A fake chat host with a person before it, who clicks, types, or does not. Source: contract lineup."""

from lasttick_fakes.host.app import HostApp
from lasttick_fakes.host.errors import NotSeen
from lasttick_fakes.host.host import ChatHost, Logged
from lasttick_fakes.host.native import NativeSource
from lasttick_fakes.host.person import Person
from lasttick_fakes.host.screen import CardView
from lasttick_fakes.host.shown import Said
from lasttick_fakes.host.wires import LineWire, SocketWire, Wire, connect_socket

__all__ = [
    "CardView",
    "ChatHost",
    "HostApp",
    "LineWire",
    "Logged",
    "NativeSource",
    "NotSeen",
    "Person",
    "Said",
    "SocketWire",
    "Wire",
    "connect_socket",
]
