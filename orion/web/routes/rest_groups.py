"""REST Proxy v3: consumer groups and how far they are, and brokers."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from orion.hub import inspection
from orion.hub.groups import Progress
from orion.hub.inspection import GroupMember, GroupView
from orion.hub.kafka import Broker
from orion.web.gateway import Gateway
from orion.web.rest_proxy.refusals import NOT_FOUND, ProxyError, ProxyRoute
from orion.web.rest_proxy.resources import Links, Resource
from orion.web.routes.rest_clusters import within

router = APIRouter(prefix="/v3/clusters/{cluster}", route_class=ProxyRoute)


@router.get("/consumer-groups")
async def groups(request: Request, cluster: str) -> JSONResponse:
    def ask(gateway: Gateway, links: Links) -> Resource:
        names = [group.name for group in gateway.kafka.groups()]
        found = inspection.groups(gateway.kafka, names)
        return links.collection("KafkaConsumerGroup", map(links.of_group, found), "consumer-groups")

    return JSONResponse(await within(request, cluster, ask))


@router.get("/consumer-groups/{group}")
async def group(request: Request, cluster: str, group: str) -> JSONResponse:
    return JSONResponse(
        await within(request, cluster, lambda gateway, links: links.of_group(_group(gateway, group)[0]))
    )


@router.get("/consumer-groups/{group}/consumers")
async def consumers(request: Request, cluster: str, group: str) -> JSONResponse:
    def ask(gateway: Gateway, links: Links) -> Resource:
        data = (links.of_member(group, member) for member in _group(gateway, group)[0].members)
        return links.collection("KafkaConsumer", data, "consumer-groups", group, "consumers")

    return JSONResponse(await within(request, cluster, ask))


@router.get("/consumer-groups/{group}/lag-summary")
async def lag_summary(request: Request, cluster: str, group: str) -> JSONResponse:
    def ask(gateway: Gateway, links: Links) -> Resource:
        parts = _group(gateway, group)[1]
        if not parts:
            raise ProxyError(NOT_FOUND, f"Consumer group {group} has committed nothing.")
        return links.of_lag_summary(group, parts)

    return JSONResponse(await within(request, cluster, ask))


@router.get("/consumer-groups/{group}/lags")
async def lags(request: Request, cluster: str, group: str) -> JSONResponse:
    def ask(gateway: Gateway, links: Links) -> Resource:
        data = (links.of_lag(group, part, member) for part, member in _group(gateway, group)[1])
        return links.collection("KafkaConsumerLag", data, "consumer-groups", group, "lags")

    return JSONResponse(await within(request, cluster, ask))


def _group(gateway: Gateway, name: str) -> tuple[GroupView, list[tuple[Progress, GroupMember | None]]]:
    """A group, and how far it is in each partition that it has committed, with who reads it."""
    detail = gateway.kafka.describe_group(name)  # raises where there is none
    view = inspection.groups(gateway.kafka, [name])[0]
    members = {member.id: member for member in view.members}
    parts = [(part, members.get(part.member or "")) for part in detail.progress if part.committed is not None]
    return view, parts


# ---- brokers -----------------------------------------------------------------------------------------------------


@router.get("/brokers")
async def brokers(request: Request, cluster: str) -> JSONResponse:
    def ask(gateway: Gateway, links: Links) -> Resource:
        return links.collection("KafkaBroker", map(links.of_broker, gateway.kafka.brokers()), "brokers")

    return JSONResponse(await within(request, cluster, ask))


@router.get("/brokers/{broker}")
async def broker(request: Request, cluster: str, broker: str) -> JSONResponse:
    return JSONResponse(
        await within(request, cluster, lambda gateway, links: links.of_broker(_broker(gateway, broker)))
    )


@router.get("/brokers/{broker}/configs")
async def broker_configs(request: Request, cluster: str, broker: str) -> JSONResponse:
    def ask(gateway: Gateway, links: Links) -> Resource:
        number = _broker(gateway, broker).id
        found = inspection.broker_settings(gateway.kafka, number)
        data = (links.of_broker_setting(number, one) for one in found)
        return links.collection("KafkaBrokerConfig", data, "brokers", number, "configs")

    return JSONResponse(await within(request, cluster, ask))


def _broker(gateway: Gateway, number: str) -> Broker:
    for one in gateway.kafka.brokers():
        if str(one.id) == number:
            return one
    raise ProxyError(NOT_FOUND, f"Broker {number} cannot be found.")
