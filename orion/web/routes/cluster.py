"""What a server tells about itself and its like: /clusterStatus, /v1/metadata, /is_valid_property and /chc."""

from __future__ import annotations

import time
from typing import Any

from fastapi import APIRouter, Request, Response

from orion import __version__
from orion.app import Orion
from orion.errors import UserError
from orion.ksql.session import canonical, is_known, nearest
from orion.plan.relations import scans
from orion.web.gateway import Gateway

router = APIRouter()


@router.get("/clusterStatus")
async def cluster_status(request: Request) -> dict[str, Any]:
    """One server is the whole cluster, and has every partition of every query."""
    orion: Orion = request.app.state.orion
    now = time.time_ns() // 1_000_000
    queries = await Gateway.of(request).run(_partitions, orion)
    host = request.headers.get("host", "localhost")
    alive = {"hostAlive": True, "lastStatusUpdateMs": now, "activeStandbyPerQuery": queries}
    return {"clusterStatus": {host: {**alive, "hostStoreLags": {"stateStoreLags": {}, "updateTimeMs": now}}}}


def _partitions(orion: Orion) -> dict[str, Any]:
    sizes = {topic.name: topic.partitions for topic in orion.kafka.topics()}
    return {
        query.id: {
            "activeStores": [],
            "activePartitions": [
                {"topic": topic, "partition": number}
                for topic in sorted({source.topic for source in scans(query.relation)})
                for number in range(sizes.get(topic, 0))
            ],
            "standByStores": [],
            "standByPartitions": [],
        }
        for query in orion.engine.catalog.queries.values()
    }


@router.get("/v1/metadata")
async def metadata(request: Request) -> dict[str, Any]:
    return {"version": __version__, "clusterId": await cluster_id(request)}


@router.get("/v1/metadata/id")
async def cluster_id(request: Request) -> dict[str, Any]:
    orion: Orion = request.app.state.orion
    gateway = Gateway.of(request)
    kafka = await gateway.run(lambda: gateway.cluster_id)
    clusters = {"kafka-cluster": kafka, "ksql-cluster": orion.engine.config.service_id}
    return {"id": "", "scope": {"path": [], "clusters": clusters}}


@router.get("/is_valid_property/{name}")
async def is_valid_property(name: str) -> bool:
    if not is_known(canonical(name)):
        raise UserError("UNKNOWN_PROPERTY", f"There is no property {name}.", hint=nearest(name))
    return True


@router.get("/chc/ready")
@router.get("/chc/live")
async def connection_health() -> Response:
    """Whether a connection gets through, and nothing more."""
    return Response()
