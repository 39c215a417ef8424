"""The raw scripted MCP client, in both eras of the protocol."""

from lasttick_fakes.client.headers import HeaderEdits
from lasttick_fakes.client.mcp import Era, InFlight, McpClient
from lasttick_fakes.client.reply import LostTransport, Reply, ReplyError
from lasttick_fakes.client.stream import EventStream

__all__ = ["Era", "EventStream", "HeaderEdits", "InFlight", "LostTransport", "McpClient", "Reply", "ReplyError"]
