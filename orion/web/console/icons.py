"""The console's icons: strokes in a square of 24, in the colour of the text beside them."""

from __future__ import annotations

_STROKES = {
    "overview": '<path d="M3 12h4l3 8 4-16 3 8h4"/>',
    "topics": '<path d="m12 3 9 5-9 5-9-5 9-5Z"/><path d="m3 12.5 9 5 9-5"/><path d="m3 17 9 5 9-5"/>',
    "sql": '<path d="m5 8 4 4-4 4"/><path d="M12 17h7"/><rect x="1.5" y="3" width="21" height="18" rx="3"/>',
    "sources": '<rect x="3" y="4" width="18" height="16" rx="2"/><path d="M3 10h18M9 10v10M15 10v10"/>',
    "queries": '<path d="M4 4v16"/><path d="m8 5 12 7-12 7V5Z"/>',
    "flow": '<circle cx="5" cy="6" r="2.5"/><circle cx="5" cy="18" r="2.5"/><circle cx="19" cy="12" r="2.5"/>'
    '<path d="M7.5 6c5 0 4 6 9 6M7.5 18c5 0 4-6 9-6"/>',
    "schemas": '<path d="M8 3H7a2 2 0 0 0-2 2v4a2 2 0 0 1-2 2 2 2 0 0 1 2 2v6a2 2 0 0 0 2 2h1"/>'
    '<path d="M16 3h1a2 2 0 0 1 2 2v4a2 2 0 0 0 2 2 2 2 0 0 0-2 2v6a2 2 0 0 1-2 2h-1"/>',
    "connectors": '<path d="M9 2v6M15 2v6M6 8h12v3a6 6 0 0 1-12 0V8ZM12 17v5"/>',
    "groups": '<circle cx="9" cy="8" r="3.5"/><path d="M2.5 20a6.5 6.5 0 0 1 13 0"/>'
    '<path d="M16 4.8a3.5 3.5 0 0 1 0 6.4M18 14.5a6.5 6.5 0 0 1 3.5 5.5"/>',
    "letters": '<rect x="2" y="5" width="20" height="14" rx="2"/><path d="m3 7 9 6 9-6"/>',
    "search": '<circle cx="11" cy="11" r="7"/><path d="m20 20-4-4"/>',
    "moon": '<path d="M20 14.5A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.5 10.5Z"/>',
    "menu": '<path d="M4 6h16M4 12h16M4 18h16"/>',
    "pause": '<path d="M8 5v14M16 5v14"/>',
    "play": '<path d="m7 4 13 8-13 8V4Z"/>',
    "stop": '<rect x="6" y="6" width="12" height="12" rx="1.5"/>',
    "restart": '<path d="M3 12a9 9 0 1 0 3-6.7L3 8"/><path d="M3 3v5h5"/>',
    "trash": '<path d="M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5M14 11v5"/>',
    "plus": '<path d="M12 5v14M5 12h14"/>',
    "send": '<path d="m21 3-9 18-3-8-8-3 20-7Z"/>',
    "inbox": '<path d="M3 13 6 5h12l3 8v6H3v-6Z"/><path d="M3 13h5l2 3h4l2-3h5"/>',
    "check": '<path d="m4 12.5 5 5L20 6.5"/>',
    "alert": '<path d="M12 3 2 20h20L12 3Z"/><path d="M12 10v4M12 17v.5"/>',
    "edit": '<path d="M4 20h4L20 8l-4-4L4 16v4Z"/>',
    "copy": '<rect x="8" y="8" width="12" height="12" rx="2"/><path d="M16 8V4H4v12h4"/>',
    "download": '<path d="M12 4v11M7 11l5 5 5-5M4 20h16"/>',
    "back": '<path d="M15 5l-7 7 7 7"/>',
    "next": '<path d="m9 5 7 7-7 7"/>',
}


def icon(name: str) -> str:
    return (
        '<svg class="o-icon" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.8" '
        f'stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">{_STROKES.get(name, "")}</svg>'
    )


LOGO = (
    '<svg class="o-logo" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8" fill="#4f46e5"/>'
    '<g fill="none" stroke="#fff" stroke-width="2" stroke-linecap="round"><path d="M7 22c6 0 6-12 12-12h6"/></g>'
    '<g fill="#fff"><circle cx="8" cy="10" r="2"/><circle cx="16" cy="16" r="2.6"/><circle cx="24" cy="22" r="2"/></g>'
    "</svg>"
)
FAVICON = LOGO.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ')
