"""What became of statements, by their command ids: `stream/ORDERS/create`. A statement is done when it is answered."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

from fastapi import FastAPI

from orion.errors import NotFound
from orion.plan.catalog import Catalog

_MOST = 10_000


class CommandStatuses:
    """Those of this run, the newest of them; what exists was created, whenever that was."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, dict[str, Any]] = OrderedDict()

    @classmethod
    def of(cls, app: FastAPI) -> CommandStatuses:
        if not hasattr(app.state, "command_statuses"):
            app.state.command_statuses = cls()
        found: CommandStatuses = app.state.command_statuses
        return found

    def note(self, entities: Iterable[dict[str, Any]]) -> None:
        for entity in entities:
            if "commandId" in entity:
                self._known[_bare(entity["commandId"])] = entity["commandStatus"]
                self._known.move_to_end(_bare(entity["commandId"]))
        while len(self._known) > _MOST:
            self._known.popitem(last=False)

    def get(self, command: str, catalog: Catalog) -> dict[str, Any]:
        known = self._known.get(_bare(command)) or _existing(catalog).get(_bare(command))
        if known is None:
            raise NotFound("NOT_FOUND", f"There was no statement {command}.")
        return known

    def all(self, catalog: Catalog) -> dict[str, str]:
        return {name: status["status"] for name, status in {**_existing(catalog), **self._known}.items()}


def _bare(command: str) -> str:
    return command.replace("`", "")


def _existing(catalog: Catalog) -> dict[str, dict[str, Any]]:
    return {
        f"{source.kind.lower()}/{name}/create": {
            "status": "SUCCESS",
            "message": f"{source.kind.capitalize()} {name} created.",
            "queryId": source.query_id,
        }
        for name, source in catalog.sources.items()
    }
