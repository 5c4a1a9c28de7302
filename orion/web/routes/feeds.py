"""POST /feeds/{topic}: rows of JSON into a stream or table, checked one by one and written before the answer."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from orion.errors import ExternalError, OrionError
from orion.web import ksql_errors
from orion.web.feed import prepared, source_of, written, written_together
from orion.web.gateway import Gateway
from orion.web.rest_proxy.bodies import bounded
from orion.web.rest_proxy.refusals import ProxyError, retry_headers

router = APIRouter()

_RETRY = {"retry-after": "1"}


@router.post("/feeds/{topic}")
async def feed(request: Request, topic: str) -> JSONResponse:
    gateway = Gateway.of(request)
    together = request.query_params.get("atomic", "false").lower() == "true"
    try:
        body = await bounded(request, gateway.settings.max_body_bytes)
        source = await gateway.run(source_of, gateway, topic, request.query_params.get("source"))
        media = request.headers.get("content-type", "").lower()
        rows = await gateway.run(prepared, gateway, source, body, media)
        fed = await (written_together if together else written)(gateway, rows)
    except OrionError as error:
        return _refused(error)
    return JSONResponse(fed.body(), fed.status, headers=_RETRY if fed.status == 429 else None)


def _refused(error: OrionError) -> JSONResponse:
    """Nothing was taken. Whatever is in the way of brokers or registry is worth another try."""
    body = ksql_errors.body(error)
    if isinstance(error, ExternalError):
        return JSONResponse(body, 429, headers=retry_headers(error))
    status = int(str(error.number)[:3]) if isinstance(error, ProxyError) else error.http_status
    return JSONResponse(body, status)
