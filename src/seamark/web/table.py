"""A table that stays quick with thousands of rows: the browser searches, sorts and turns pages; only changes are sent.

A row is a mapping with an ``id`` and a value for each column, which is a plain text or number, or a mapping::

    {"text": "orders", "href": "/ui/connectors/orders"}   a link
    {"text": "12 s ago", "sort": 1731790000}              sorted by something else than what is shown
    {"text": "orders", "sub": "No such topic", "tone": "bad", "title": "more on hovering"}

``facets`` of a row are what it can be filtered by, ``search`` what is searched beside its texts; ``tone`` colours it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from nicegui import ui
from nicegui.events import GenericEventArguments

Row = Mapping[str, Any]
PAGE: Final = 50


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        key: of its value in rows.
        label: what its head says.
        kind: ``text``, ``number`` (in full), ``short`` (1.2k), ``state``, ``tasks`` (states and how many), ``spark``
            (a mapping with ``points`` and ``text``), ``code``, or ``actions``: a list of mappings with ``id``,
            ``label`` and maybe ``why_not`` and ``kind``.
        is_sortable: whether a click on its head sorts by it.
        title: explains it.
    """

    key: str
    label: str
    kind: str = "text"
    is_sortable: bool = True
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Facet:
    """What rows can be filtered by: a key of their ``facets``, and what the choice is called."""

    key: str
    label: str


class Table(ui.element, component="components/table.js"):
    """A table.

    ::

        table = Table([Column("name", "Connector"), Column("lag", "Lag", "number")], label="Connectors")
        table.show([{"id": "orders", "name": "orders", "lag": 12}])

    Args:
        columns: from left to right.
        label: what it is a table of, for readers of the screen.
        facets: choices beside the search.
        search: what the search says while it is empty; None for a table without.
        is_selectable: whether rows have boxes to tick; `on_select` is told of ids.
        empty: what is said instead of rows.
        page_size: how many rows are shown at once.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        label: str,
        facets: Sequence[Facet] = (),
        search: str | None = None,
        is_selectable: bool = False,
        empty: str = "There is nothing here.",
        page_size: int = PAGE,
    ) -> None:
        super().__init__()
        self._rows: dict[str, Row] = {}
        self._is_sent = False
        self.props["columns"] = [
            {"key": c.key, "label": c.label, "kind": c.kind, "sortable": c.is_sortable, "title": c.title}
            for c in columns
        ]
        self.props["facets"] = [{"key": facet.key, "label": facet.label} for facet in facets]
        self.props["label"] = label
        self.props["search"] = search
        self.props["selectable"] = is_selectable
        self.props["empty"] = empty
        self.props["page-size"] = page_size
        self.props["rows"] = []

    def show(self, rows: Sequence[Row]) -> None:
        """Show these rows, in this order unless the reader has chosen another; only what differs is sent."""
        new = {str(row["id"]): row for row in rows}
        if not self._is_sent and not self.client.has_socket_connection and not self._is_built():
            self.props["rows"] = list(new.values())
        else:
            changed = [row for key, row in new.items() if self._rows.get(key) != row]
            order = list(new) if list(new) != list(self._rows) else None
            if changed or order is not None:
                self.run_method("patch", changed, order)
            self._is_sent = True
        self._rows = new

    def choose(self, facet: str, value: str) -> None:
        """Show only rows with a value of a facet; the empty text for all."""
        self.run_method("choose", facet, value)

    def deselect(self) -> None:
        """Tick no row."""
        self.run_method("deselect")

    def on_select(self, handler: Callable[[list[str]], Awaitable[Any] | Any]) -> None:
        """Tell the ids of the ticked rows whenever they change."""
        self.on("select", lambda event: handler([key for key in _list(event) if key in self._rows]))

    def on_action(self, handler: Callable[[str, str], Awaitable[Any] | Any]) -> None:
        """Tell a row's id and the id of its action that was clicked. An action that says why not is never told."""

        def handle(event: GenericEventArguments) -> Any:
            row, action = _list(event)
            return handler(row, action) if self._has_action(row, action) else None

        self.on("action", handle)

    def _has_action(self, row: str, action: str) -> bool:
        """Browsers can be made to send anything."""
        cells = self._rows.get(row, {}).values()
        found = [each for cell in cells if isinstance(cell, list) for each in cell if isinstance(each, Mapping)]
        return any(each.get("id") == action and not each.get("why_not") for each in found)

    def _is_built(self) -> bool:
        """Whether the page has been sent already."""
        return bool(getattr(self.client, "_response_built", False))


def _list(event: GenericEventArguments) -> list[Any]:
    return event.args if isinstance(event.args, list) else [event.args]
