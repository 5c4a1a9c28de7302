"""Ten statements over one topic at 200 records/s: nine filter, one counts. In one stream, and each in its own.

What 50 and 100 take beside them, a tenth of them counting, stands in the text. One round of each: a platform is started
for every figure.
"""

from __future__ import annotations

from benchmarks.many_statements import APART, Load, measure_load
from benchmarks.stage import Measured, Stage

_RATE, _WARM_S, _MEASURED_S = 200, 30.0, 30.0


def measure(stage: Stage) -> Measured:
    told = {}
    for count in (10, 50, 100):
        keyed = count // 10
        told[count] = measure_load(Load(count - keyed, keyed, _RATE, _WARM_S, _MEASURED_S), {})
        stage.say(f"statements_under_load: {count}: {told[count]}")
    apart = measure_load(Load(9, 1, _RATE, _WARM_S, _MEASURED_S), APART)
    stage.say(f"statements_under_load: 10, each in its own stream: {apart}")
    what = "; ".join(f"{count} statements: {taken}" for count, taken in told.items())
    ours = told[10].core
    return Measured(
        "statements_under_load", ours, apart.core, apart.core / ours, "% of a core", f"{what}; apart {apart}"
    )
