"""A server of the tests on a free port of this machine, in a thread of its own."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

import uvicorn


class Served:
    """`url`: the origin at which the ASGI application answers, until `stop`."""

    def __init__(self, app: Any) -> None:
        listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        self._server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_config=None))
        self._thread = threading.Thread(target=lambda: asyncio.run(self._server.serve(sockets=[listener])), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(10)
