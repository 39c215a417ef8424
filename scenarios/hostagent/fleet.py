"""The plain model of many devices: one small PureLeases for each, so that a step costs the same however many.

It can be kept as small as what is held, by `forget`.
"""

from __future__ import annotations

from dataclasses import replace

from lasttick.model.lease import Holder, LeaseView
from lasttick.model.lease_oracle import Op, PureLeases, Reply


class Fleet:
    def __init__(self, ttl_ns: int) -> None:
        self._ttl_ns = ttl_ns
        self._one: dict[str, PureLeases] = {}
        self._touched: dict[Holder, dict[str, None]] = {}

    def apply(self, op: Op, at_ns: int) -> Reply:
        if op.name == "end_holder":
            ended: list[str] = []
            for device_id in self._touched.pop(op.holder, {}):
                if device_id in self._one:
                    self._one[device_id], ids = self._one[device_id].apply(op, at_ns)
                    ended += ids  # type: ignore[arg-type]
            return sorted(ended)
        self._touched.setdefault(op.holder, {})[op.device_id] = None
        before = self._one.get(op.device_id, PureLeases(self._ttl_ns))
        self._one[op.device_id], reply = before.apply(op, at_ns)
        return reply

    def lease(self, device_id: str, at_ns: int) -> LeaseView | None:
        """Who holds a device now."""
        one = self._one.get(device_id)
        held = one.snapshot(at_ns) if one is not None else []
        return held[0] if held else None

    def snapshot(self, at_ns: int) -> list[LeaseView]:
        """What is held, sorted by device id."""
        views = [view for one in self._one.values() for view in one.snapshot(at_ns)]
        return sorted(views, key=lambda view: view.device_id)

    def forget(self, at_ns: int) -> None:
        """Drop whatever can make no difference any more: expired leases, and who ended and holds nothing."""
        held = self.snapshot(at_ns)
        self._one = {view.device_id: self._one[view.device_id] for view in held}
        for view in held:
            one = self._one[view.device_id]
            self._one[view.device_id] = replace(one, leases=(view,), ended=one.ended & {view.holder})
        self._touched = {}
        for view in held:
            self._touched.setdefault(view.holder, {})[view.device_id] = None
