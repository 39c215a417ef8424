"""What does the platform know of an organisation and of the tools right now? Read from the rows at every use.

Texts that did not change are not parsed again: the row is read, its text compared. Source: contract gateway, "Parts".
"""

from __future__ import annotations

import hashlib
import json
import logging
from typing import Any

import sqlalchemy as sa

from lasttick.model.errors import shown
from lasttick.model.tool_call import Refusal
from lasttick.model.tool_names import ToolNameError
from lasttick.model.tool_registry import Registry, RegistryError
from lasttick.reference.gateway import documents
from lasttick.reference.gateway.database import Database, chat_token, dumped, org, setting
from lasttick.reference.gateway.documents import DocumentError, Org, Tools
from lasttick.reference.gateway.http_json import Refused

REGISTRY = "registry"
MEMO_MAX = 256

TOKEN_TAKEN = Refusal(
    409,
    "CHAT_TOKEN_TAKEN",
    "a chat token belongs to another organisation; expected one organisation for each; make a new token",
)

_ORG = sa.select(org.c.document).where(org.c.org_id == sa.bindparam("org_id"))
_BOTH = sa.select(
    _ORG.scalar_subquery().label("document"),
    sa.select(setting.c.value).where(setting.c.name == REGISTRY).scalar_subquery().label("registry"),
)
_SETTING = sa.select(setting.c.value).where(setting.c.name == sa.bindparam("name"))
_TOKEN = sa.select(chat_token.c.org_id).where(chat_token.c.sha256 == sa.bindparam("sha256"))

logger = logging.getLogger(__name__)


class Catalogue:
    """Organisations and the registry."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._orgs: dict[str, tuple[str, Org]] = {}
        self._tools: tuple[str, Tools] | None = None

    def now(self, org_id: str) -> tuple[Org, Tools]:
        """The organisation and the registry, both as they are now; an unknown organisation has nothing."""
        with self._database.begin() as connection:
            row = connection.execute(_BOTH, {"org_id": org_id}).one()
        return self._org(org_id, row.document), self._tools_of(row.registry)

    def document(self, org_id: str) -> dict[str, Any] | None:
        """What was stored, whole; None when nothing was."""
        text = self._org_text(org_id)
        return None if text is None else json.loads(text)

    def put_org(self, org_id: str, document: Any) -> None:
        """Replace an organisation's document. Raises DocumentError, Refused (409)."""
        documents.org(org_id, document)
        digests = [_sha256(token) for token in documents.chat_tokens(document)]
        text = dumped(document)
        with self._database.begin() as connection:
            taken = sa.select(chat_token.c.sha256).where(
                chat_token.c.sha256.in_(digests), chat_token.c.org_id != org_id
            )
            if connection.execute(taken).first() is not None:
                raise Refused(TOKEN_TAKEN)
            connection.execute(chat_token.delete().where(chat_token.c.org_id == org_id))
            if connection.execute(org.update().where(org.c.org_id == org_id).values(document=text)).rowcount == 0:
                connection.execute(org.insert().values(org_id=org_id, document=text))
            if digests:
                connection.execute(chat_token.insert(), [{"sha256": d, "org_id": org_id} for d in digests])

    def org_of_token(self, token: str) -> str | None:
        """Whose conversations does this chat token open? Looked up by digest: rows hold no token to compare with."""
        with self._database.begin() as connection:
            found = connection.scalar(_TOKEN, {"sha256": _sha256(token)})
        return None if found is None else str(found)

    def tools(self) -> Tools:
        """The registry as it is now."""
        return self._tools_of(self._registry_text())

    def put_tools(self, data: Any) -> None:
        """Replace the registry. Raises RegistryError, ToolNameError, DocumentError; then the old one stays."""
        documents.tools(data)
        text = dumped(data)
        with self._database.begin() as connection:
            if connection.execute(setting.update().where(setting.c.name == REGISTRY).values(value=text)).rowcount == 0:
                connection.execute(setting.insert().values(name=REGISTRY, value=text))

    def load(self) -> None:
        """At the start: the registry that was stored, or the default one. Raises as `put_tools`, so that a platform
        whose agent could not tell two tools apart does not start (ruling 8)."""
        text = self._registry_text()
        self.put_tools(documents.DEFAULT_REGISTRY if text is None else json.loads(text))

    def _org(self, org_id: str, text: str | None) -> Org:
        """One that was spoilt in its row has nothing until it is stored again."""
        if text is None:
            return Org(org_id)
        known = self._orgs.get(org_id)
        if known is None or known[0] != text:
            if len(self._orgs) >= MEMO_MAX:
                self._orgs.clear()
            try:
                known = self._orgs[org_id] = (text, documents.org(org_id, json.loads(text)))
            except (ValueError, RecursionError) as error:
                logger.error("an organisation's stored document allows nothing: %s", shown(str(error), 300))
                return Org(org_id)
        return known[1]

    def _tools_of(self, text: str | None) -> Tools:
        """One that was spoilt in its row allows nothing until it is stored again."""
        text = text or ""
        known = self._tools
        if known is None or known[0] != text:
            try:
                known = self._tools = (text, documents.tools(json.loads(text)))
            except (ValueError, RecursionError) as error:
                logger.error("the stored registry allows nothing: %s", shown(str(error), 300))
                return Tools(Registry({}), {})
        return known[1]

    def _registry_text(self) -> str | None:
        with self._database.begin() as connection:
            text = connection.scalar(_SETTING, {"name": REGISTRY})
        return None if text is None else str(text)

    def _org_text(self, org_id: str) -> str | None:
        with self._database.begin() as connection:
            text = connection.scalar(_ORG, {"org_id": org_id})
        return None if text is None else str(text)


INVALID = (DocumentError, RegistryError, ToolNameError)
"""What is wrong with a document that an operator sent."""


def _sha256(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
