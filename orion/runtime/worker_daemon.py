"""The process that Spark forks its Python workers from, with all that workers need loaded once and for all of them.

PySpark's own loads next to nothing, and each worker takes a second of the processor's time to load the same. A fork
has only the thread that forks, so nothing that is loaded here may start one, and what draws random numbers is told to
begin anew in each worker.

It is run as a module, in PySpark's place (spark.python.daemon.module).
"""

from __future__ import annotations

import gc
import os
from importlib import import_module

_LOADED = (
    "pyspark.worker",
    "numpy.random",
    "pyarrow.compute",
    "pandas",
    "orion.runtime.lanes.exact",
    "orion.runtime.operators.aggregate",
    "orion.runtime.operators.join",
    "orion.runtime.operators.rowwise",
)
# What Arrow and numpy's linear algebra would start threads by: Arrow takes its memory elsewhere, and Spark means a
# task to have one core.
_THREADLESS = {"JE_ARROW_MALLOC_CONF": "background_thread:false", "OPENBLAS_NUM_THREADS": "1"}


def load_modules() -> None:
    """Load what workers need, for good; the collector of garbage never looks at it again."""
    before = {name: os.environ.get(name) for name in _THREADLESS}
    os.environ.update({name: value for name, value in _THREADLESS.items() if name not in os.environ})
    gc.disable()
    for name in _LOADED:
        import_module(name)
    gc.freeze()
    gc.enable()
    for name, value in before.items():  # a worker's own programs have the environment that Spark gave
        if value is None:
            os.environ.pop(name, None)
    from numpy import random

    os.register_at_fork(after_in_child=random.seed)


if __name__ == "__main__":
    load_modules()
    from pyspark.daemon import manager

    manager()
