"""NiceGUI's application with every page in it: once in a process. Which platform a page shows, its request says."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from fastapi import FastAPI
from nicegui import app, ui

from orion.web.console.icons import FAVICON
from orion.web.console.shell import shell
from orion.web.console.view import tell_unexpected

ASSETS = Path(__file__).with_name("assets")
_RECONNECT_S = 20.0


@cache
def site() -> FastAPI:
    """The application; its lifespan is NiceGUI's."""
    host = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.add_static_files(f"/_console/{_version()}", ASSETS)
    app.colors(primary="#4f46e5")
    app.on_exception(tell_unexpected)
    ui.add_head_html(_head(), shared=True)
    ui.run_with(
        host,
        root=shell,
        title="Orion",
        favicon=FAVICON,
        dark=None,
        tailwind=False,
        binding_refresh_interval=None,
        reconnect_timeout=_RECONNECT_S,
        show_welcome_message=False,
    )
    return host


def _version() -> str:
    """Changes with the files, so that a browser may keep them for good."""
    told = hashlib.sha256()
    for file in sorted(ASSETS.iterdir()):
        told.update(file.read_bytes())
    return told.hexdigest()[:12]


def _head() -> str:
    where = f"/_console/{_version()}"
    return (
        f'<link rel="stylesheet" href="{where}/console.css">'
        f'<link rel="stylesheet" href="{where}/pieces.css">'
        f'<script src="{where}/console.js" defer></script>'
        f'<script src="{where}/editor.js" defer></script>'
    )
