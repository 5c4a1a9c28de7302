"""One file a store. Each has

- `LACKS`: features that the store doesn't have, and why
- `opened(request)`: a StoreCase on a fresh namespace of a real server; it asks `request` for the server's fixture

The suite takes every file here; a new store needs no other line.
"""

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

MODULES: dict[str, ModuleType] = {m.name: import_module(f"{__name__}.{m.name}") for m in iter_modules(__path__)}
