"""How does a host in another process reach the fake devices? The rack's HTTP wire, as an ASGI app.

    GET  /v1/devices                     {"devices": [one, ...]}, one = {device_id, platform, scale, width_px,
                                         height_px, health, running, fence}
    POST /v1/devices                     {"devices": "phone-3=android,ipad-2=ios@3"} -> 201, the added ones
    DELETE /v1/devices                   all devices out, a new log -> 200
    GET  /v1/devices/{id}                one of them; readable during an action
    POST /v1/devices/{id}/perform        {"tool", "arguments", "fence"?} -> 200 {"result"} | 502 {"error"} when the
                                         device failed | 412 {"error"} for a fencing token older than the device's
    POST /v1/devices/{id}/claim          {"fence"} -> 200, the device, which refuses older tokens from now on | 412
    POST /v1/devices/{id}/trouble        {"kind", "tool"?, "s"?, "on_call"?} -> 200, the device
    GET  /v1/log?after=SEQ               {"log": [...], "dropped": n}

Anything that cannot be read is 400 (404: no such device or path, 405, 413: over a megabyte), `{"error": message}`. A
dropped connection does not stop an action. There is no door: a rack is a test part and listens on loopback only.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lasttick.ports import DriverError, StaleFence
from lasttick_fakes.devices import trouble
from lasttick_fakes.devices.arguments import BadAction, short
from lasttick_fakes.devices.rack import Rack, UnknownDevice
from lasttick_fakes.devices.spec import DeviceSpecError, parse_devices
from lasttick_fakes.devices.trouble import BadTrouble

BODY_BYTES_MAX = 1_000_000


def rack_app(rack: Rack) -> Starlette:
    """The wire of one rack. The caller serves it, and closes the rack."""

    async def list_devices(request: Request) -> Response:
        return JSONResponse({"devices": [device.as_json() for device in rack.devices]})

    async def add_devices(request: Request) -> Response:
        body = await _body(request, "devices")
        if not isinstance(body["devices"], str):
            raise HTTPException(400, f"devices is {short(body['devices'])}; expected text as for --devices; correct it")
        added = rack.add(parse_devices(body["devices"]))
        return JSONResponse({"devices": [device.as_json() for device in added]}, 201)

    async def clear_devices(request: Request) -> Response:
        rack.clear()
        return JSONResponse({"devices": []})

    async def get_device(request: Request) -> Response:
        return JSONResponse(rack.device(request.path_params["device_id"]).as_json())

    async def perform(request: Request) -> Response:
        device = rack.device(request.path_params["device_id"])
        body = await _body(request, "tool", "arguments", optional=("fence",))
        fence = _fence(body["fence"]) if "fence" in body else None
        if not isinstance(body["tool"], str) or not isinstance(body["arguments"], dict):
            raise HTTPException(400, "tool must be text and arguments an object, as the rack's wire says; correct them")
        return JSONResponse({"result": await device.perform(body["tool"], body["arguments"], fence)})

    async def claim(request: Request) -> Response:
        device = rack.device(request.path_params["device_id"])
        await device.claim(_fence((await _body(request, "fence"))["fence"]))
        return JSONResponse(device.as_json())

    async def make_trouble(request: Request) -> Response:
        device = rack.device(request.path_params["device_id"])
        device.trouble(trouble.parse(await _json(request)))
        return JSONResponse(device.as_json())

    async def get_log(request: Request) -> Response:
        after = request.query_params.get("after", "0")
        if not (after.isascii() and after.isdigit() and len(after) <= 18):
            raise HTTPException(400, f"after = {short(after)}; expected the seq of a line, a whole number; correct it")
        entries = [entry.as_json() for entry in rack.log.entries(int(after))]
        return JSONResponse({"log": entries, "dropped": rack.log.dropped})

    return Starlette(
        routes=[
            Route("/v1/devices", list_devices, methods=["GET"]),
            Route("/v1/devices", add_devices, methods=["POST"]),
            Route("/v1/devices", clear_devices, methods=["DELETE"]),
            Route("/v1/devices/{device_id}", get_device, methods=["GET"]),
            Route("/v1/devices/{device_id}/perform", perform, methods=["POST"]),
            Route("/v1/devices/{device_id}/claim", claim, methods=["POST"]),
            Route("/v1/devices/{device_id}/trouble", make_trouble, methods=["POST"]),
            Route("/v1/log", get_log, methods=["GET"]),
        ],
        exception_handlers=_HANDLERS,
    )


def _fence(value: Any) -> int:
    """A fencing token. Raises HTTPException."""
    if type(value) is not int or value < 0:
        raise HTTPException(400, f"fence is {short(value)}; expected a whole number from 0, as in a grant; correct it")
    return value


async def _body(request: Request, *keys: str, optional: tuple[str, ...] = ()) -> dict[str, Any]:
    """The request's JSON object with these keys and no others but `optional` ones. Raises HTTPException."""
    body = await _json(request)
    if not isinstance(body, dict) or sorted(body.keys() - set(optional)) != sorted(keys):
        raise HTTPException(
            400, f"the body is {short(body)}; expected a JSON object with {' and '.join(keys)}; correct it"
        )
    return body


async def _json(request: Request) -> Any:
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > BODY_BYTES_MAX:
            raise HTTPException(413, f"the body is over {BODY_BYTES_MAX} bytes, the rack's limit; send less")
    try:
        return json.loads(bytes(data), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, f"the body is not JSON ({error}); expected a JSON object; correct it") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _answer(status: int) -> Any:
    async def handler(request: Request, error: Exception) -> Response:
        return JSONResponse({"error": str(error)}, status)

    return handler


async def _answer_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    known = "see the rack's wire for its paths" if error.status_code in (404, 405) else ""
    message = f"{request.method} {short(request.url.path)}: {error.detail}; {known}" if known else error.detail
    return JSONResponse({"error": message}, error.status_code, error.headers)


_HANDLERS: dict[Any, Any] = {
    UnknownDevice: _answer(404),
    BadAction: _answer(400),
    StaleFence: _answer(412),
    DriverError: _answer(502),
    DeviceSpecError: _answer(400),
    BadTrouble: _answer(400),
    HTTPException: _answer_http,
    ClientDisconnect: _answer(400),
}
