"""What does the third party do? Orders and products, and four actions on them, named as the gateway names its tools.

| action | input | result |
|---|---|---|
| order_lookup/lookup, shop/get_order | `{order_id}` | `{"order": the order}` |
| shop/get_product | `{product_id}` | `{"product": the product}` |
| shop/refund | `{order_id}` | `{"order": the order}`, from now on with `"refunded": true` |

Records are whatever a test puts in; ids are text. Pure: no time, no I/O.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lasttick_fakes.http_json import Refused, shown

ACTIONS = ("order_lookup/lookup", "shop/get_order", "shop/get_product", "shop/refund")


class Business:
    """The data of one third party."""

    def __init__(self) -> None:
        self.orders: dict[str, dict[str, Any]] = {}
        self.products: dict[str, dict[str, Any]] = {}

    def act(self, action: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Do one action. Raises Refused: 400 the input is not as above, 404 no such record or action."""
        if action not in ACTIONS:
            raise Refused(404, f"no action {shown(action)}; known are {', '.join(ACTIONS)}; use one of these")
        if action == "shop/get_product":
            return {"product": self._one(self.products, "product_id", given)}
        order = self._one(self.orders, "order_id", given)
        if action == "shop/refund":
            order["refunded"] = True
        return {"order": dict(order)}

    def _one(self, records: dict[str, dict[str, Any]], name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        key = given.get(name)
        if not isinstance(key, str) or not key:
            raise Refused(400, f"{name} is {shown(key)}; expected the text that names one; correct the input")
        if key not in records:
            raise Refused(404, f"no record with {name} {shown(key)}; expected one that exists; look it up elsewhere")
        return records[key]
