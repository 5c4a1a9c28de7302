"""Under what tag each class of a stored value is written. A tag is for good, whatever becomes of the class's name.

A class that an entry of the journal can hold has a tag here, and a test says so where one is missing. A tag is never
given to another class, and a class keeps its tag when it is renamed or moved. A field that is renamed keeps its stored
name by `field(metadata={"stored": "the_old_name"})`; a new one has a default, which is what older entries mean.
Anything else, a changed default too, is a new format: see `orion.plan.migrations`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from orion import schema
from orion.plan import definitions, relations, sources

TAGS: Mapping[str, type[Any]] = MappingProxyType(
    {
        # entries
        "source": sources.Source,
        "query": relations.Query,
        "connector": sources.Connector,
        "type": definitions.CustomType,
        "function": definitions.PythonFunction,
        # types and columns
        "scalar": schema.Scalar,
        "decimal": schema.Decimal,
        "array": schema.Array,
        "map": schema.Map,
        "struct": schema.Struct,
        "field": schema.Field,
        "role": schema.Role,
        "column": schema.Column,
        "schema": schema.Schema,
        # sources and connectors
        "kind": sources.Kind,
        "window-kind": sources.WindowKind,
        "window": sources.Window,
        "serde": sources.Serde,
        "wiring": sources.Wiring,
        "wire-schema": sources.WireSchema,
        "timestamp": sources.Timestamp,
        "direction": sources.Direction,
        "wanted": sources.Wanted,
        # relations
        "expr": relations.Expr,
        "named": relations.Named,
        "aggregate-call": relations.AggregateCall,
        "scan": relations.Scan,
        "filter": relations.Filter,
        "project": relations.Project,
        "explode": relations.Explode,
        "settle": relations.Settle,
        "distinct": relations.Distinct,
        "union": relations.Union,
        "join": relations.Join,
        "join-type": relations.JoinType,
        "join-kind": relations.JoinKind,
        "within": relations.Within,
        "side": relations.Side,
        "aggregate": relations.Aggregate,
        "guarantee": relations.Guarantee,
    }
)
