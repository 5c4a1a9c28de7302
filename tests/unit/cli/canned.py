"""A server with answers that are written down: what the prompt makes of them needs no broker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

INFO = {"KsqlServerInfo": {"version": "1", "kafkaClusterId": "C", "ksqlServiceId": "orion"}}
STREAMS = {
    "@type": "streams",
    "streams": [
        {
            "type": "STREAM",
            "name": "ORDERS",
            "topic": "orders",
            "keyFormat": "KAFKA",
            "valueFormat": "JSON",
            "isWindowed": False,
        }
    ],
}
TABLES = {
    "@type": "tables",
    "tables": [
        {
            "type": "TABLE",
            "name": "PER_ZIP",
            "topic": "PER_ZIP",
            "keyFormat": "KAFKA",
            "valueFormat": "JSON",
            "isWindowed": True,
        }
    ],
}
DESCRIBED = {
    "@type": "sourceDescription",
    "sourceDescription": {
        "name": "PER_ZIP",
        "type": "TABLE",
        "windowType": "TUMBLING",
        "window": "TUMBLING ( SIZE 60000 MILLISECONDS )",
        "extended": False,
        "fields": [
            {"name": "ZIP", "schema": {"type": "STRING"}, "type": "KEY"},
            {"name": "ORDERS", "schema": {"type": "BIGINT"}},
        ],
    },
}
CREATED = {
    "@type": "currentStatus",
    "commandStatus": {"status": "SUCCESS", "message": "Table PER_ZIP created.", "queryId": "CTAS_PER_ZIP_7"},
}
ANSWERS: dict[str, Any] = {
    "SHOW STREAMS": STREAMS,
    "SHOW TABLES": TABLES,
    "SHOW QUERIES": {"@type": "queries", "queries": []},
    "DESCRIBE PER_ZIP": DESCRIBED,
    "CREATE TABLE": CREATED,
}
NARROW: list[Any] = [
    {"queryId": None, "columnNames": ["K", "N", "NOTE"], "columnTypes": ["STRING", "BIGINT", "STRING"]},
    ["a", 1234567890123456789, None],
    ["NULL", 2, ""],
]
WIDE: list[Any] = [
    {
        "queryId": None,
        "columnNames": ["ID", "AMOUNT", "TAGS", "WHO", "AT", "WINDOWSTART", "COMMENT"],
        "columnTypes": [
            *("BIGINT", "DECIMAL(20, 2)", "ARRAY<STRING>", "STRUCT<`NAME` STRING, `OK` BOOLEAN>", "TIMESTAMP"),
            *("BIGINT", "STRING"),
        ],
    },
    [
        *(9007199254740993, "\ue0001234567.10\ue000", ["a", "it's"], {"NAME": "Zoë", "OK": True}),
        *("2026-01-31T12:00:00.000", 1767225600000, "x" * 60),
    ],
]
ROWS: dict[str, list[Any]] = {"SELECT * FROM NARROW": NARROW, "SELECT * FROM WIDE": WIDE, "SELECT 1": NARROW[:1]}


def line_of(value: Any) -> str:
    """JSON with a number's own digits, as the server writes a DECIMAL."""
    return json.dumps(value, ensure_ascii=False).replace('"\ue000', "").replace('\ue000"', "") + "\n"


class Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._send(json.dumps(INFO))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/query-stream":
            text = body["sql"].rstrip(";").upper()
            known = next((rows for start, rows in ROWS.items() if text.startswith(start)), None)
            self._send("".join(map(line_of, known))) if known else self._refuse(text)
            return
        texts = [text.strip() for text in body["ksql"].split(";") if text.strip()]
        found = [next((e for start, e in ANSWERS.items() if text.upper().startswith(start)), None) for text in texts]
        self._refuse(body["ksql"]) if None in found else self._send(json.dumps(found))

    def _send(self, text: str, status: int = 200) -> None:
        content = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _refuse(self, text: str) -> None:
        self._send(json.dumps({"code": "UNKNOWN_SOURCE", "message": f"Not written down: {text}."}), 400)

    def log_message(self, *_: object) -> None: ...


@contextmanager
def canned_server() -> Iterator[str]:
    """Its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
