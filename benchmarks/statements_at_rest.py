"""Ten statements over a topic that stands still, in one stream and each in its own; what 1 and 100 take beside them."""

from __future__ import annotations

from benchmarks.many_statements import APART, Load, measure_load
from benchmarks.stage import Measured, Stage

_WARM_S, _MEASURED_S = 30.0, 30.0


def measure(stage: Stage) -> Measured:
    told = {}
    for count in (1, 10, 100):
        keyed = count // 10
        told[count] = measure_load(Load(count - keyed, keyed, 0, _WARM_S, _MEASURED_S), {})
        stage.say(f"statements_at_rest: {count}: {told[count]}")
    apart = measure_load(Load(9, 1, 0, _WARM_S, _MEASURED_S), APART)
    stage.say(f"statements_at_rest: 10, each in its own stream: {apart}")
    what = "; ".join(f"{count} at rest: {taken}" for count, taken in told.items())
    ours = told[10].core
    return Measured("statements_at_rest", ours, apart.core, apart.core / ours, "% of a core", f"{what}; apart {apart}")
