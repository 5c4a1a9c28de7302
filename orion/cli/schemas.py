"""`orion schemas`: list, show, register, check, compare and delete the schemas of a registry."""

from __future__ import annotations

import difflib
import json as json_module
from pathlib import Path
from typing import Annotated, Any

import typer

from orion.cli import output
from orion.cli.files import read_text_file
from orion.cli.output import Json
from orion.cli.registry_client import registry_of
from orion.cli.topics import confirm
from orion.errors import UserError

app = typer.Typer(no_args_is_help=True, help="Look at and change the schemas of a registry.")

_TYPES = {".avsc": "AVRO", ".json": "JSON", ".proto": "PROTOBUF"}
_INCOMPATIBLE = 1

Url = Annotated[
    str | None, typer.Option("--url", help="The registry; that of the settings or of `orion up` unless told.")
]
Subject = Annotated[str, typer.Argument(help="The subject, such as orders-value.", show_default=False)]
File = Annotated[Path, typer.Argument(help="The schema's file.", show_default=False)]
VersionOption = Annotated[str, typer.Option("--version", help="A number, or latest.")]
TypeOption = Annotated[
    str | None,
    typer.Option("--type", help="AVRO, JSON or PROTOBUF; by the file's ending unless told: .avsc, .json, .proto."),
]
References = Annotated[
    list[str] | None,
    typer.Option("--reference", metavar="NAME=SUBJECT:VERSION", help="A schema that this one uses; repeatable."),
]


@app.command("list")
def list_schemas(
    ctx: typer.Context,
    prefix: Annotated[str | None, typer.Option(help="Only subjects that begin so.")] = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="Soft-deleted ones too.")] = False,
    url: Url = None,
    json: Json = False,
) -> None:
    """List subjects with their newest schema."""
    found = registry_of(ctx, url).get("schemas", subjectPrefix=prefix, deleted=deleted, latestOnly=True)
    rows = [(one["subject"], one["version"], one["id"], one.get("schemaType", "AVRO")) for one in found]
    output.table(("subject", "version", "id", "type"), rows, as_json=json)


@app.command()
def show(
    ctx: typer.Context, subject: Subject, version: VersionOption = "latest", url: Url = None, json: Json = False
) -> None:
    """Show a schema."""
    found = registry_of(ctx, url).get("subjects", subject, "versions", version)
    if json:
        output.document(found)
    else:
        output.note(f"{found['subject']} version {found['version']}, id {found['id']}")
        typer.echo(_readable(found))


@app.command()
def register(
    ctx: typer.Context,
    subject: Subject,
    file: File,
    schema_type: TypeOption = None,
    reference: References = None,
    normalize: Annotated[bool, typer.Option("--normalize", help="Put it into its standard form first.")] = False,
    url: Url = None,
) -> None:
    """Register a schema under a subject."""
    body = _body(file, schema_type, reference)
    answer = registry_of(ctx, url).post(body, "subjects", subject, "versions", normalize=normalize)
    output.note(f"registered under {subject}")
    typer.echo(answer["id"])


@app.command()
def check(
    ctx: typer.Context,
    subject: Subject,
    file: File,
    version: Annotated[
        str | None, typer.Option("--version", help="Only against this one; what the subject's level says unless told.")
    ] = None,
    schema_type: TypeOption = None,
    reference: References = None,
    url: Url = None,
) -> None:
    """Say whether a schema may follow the subject's; ends with 1 when it may not."""
    path = ("compatibility", "subjects", subject, "versions", *([version] if version else []))
    answer = registry_of(ctx, url).post(_body(file, schema_type, reference), *path, verbose=True)
    for message in answer.get("messages") or ():
        if not message.startswith("{oldSchema:"):  # `show` has it
            typer.echo(message)
    if not answer["is_compatible"]:
        output.note(f"not compatible with {subject}")
        raise typer.Exit(_INCOMPATIBLE)
    output.note(f"compatible with {subject}")


@app.command()
def diff(
    ctx: typer.Context,
    subject: Subject,
    old: Annotated[str, typer.Argument(help="A version.", show_default=False)],
    new: Annotated[str, typer.Argument(help="Another; the newest unless told.")] = "latest",
    url: Url = None,
) -> None:
    """Show what differs between two versions."""
    registry = registry_of(ctx, url)
    before, after = (registry.get("subjects", subject, "versions", version) for version in (old, new))
    names = [f"{subject} version {one['version']}" for one in (before, after)]
    lines = [_readable(one).splitlines() for one in (before, after)]
    for line in difflib.unified_diff(lines[0], lines[1], names[0], names[1], lineterm=""):
        typer.echo(line)


@app.command()
def delete(
    ctx: typer.Context,
    subject: Subject,
    version: Annotated[str | None, typer.Option("--version", help="Only this version.")] = None,
    permanent: Annotated[bool, typer.Option("--permanent", help="For good; it must be soft-deleted.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
    url: Url = None,
) -> None:
    """Soft-delete a subject or a version: records keep their schema, and it can be registered again."""
    what = f"{subject} version {version}" if version else subject
    if not yes:
        confirm(f"Delete {what}{' for good' * permanent}?")
    path = ("subjects", subject, *(["versions", version] if version else []))
    registry_of(ctx, url).send_delete(*path, permanent=permanent)
    output.note(f"deleted {what}")


def _body(file: Path, schema_type: str | None, references: list[str] | None) -> dict[str, Any]:
    kind = schema_type.upper() if schema_type else _TYPES.get(file.suffix.lower())
    if kind is None:
        raise UserError("SCHEMA_TYPE_UNKNOWN", f"{file} may be any type of schema.", hint="Give --type.")
    body: dict[str, Any] = {"schema": read_text_file(file), "schemaType": kind}
    if references:
        body["references"] = [_reference(text) for text in references]
    return body


def _reference(text: str) -> dict[str, Any]:
    name, equals, target = text.partition("=")
    subject, colon, version = target.rpartition(":")
    if not equals or not colon or not version.isdecimal():
        raise UserError("INVALID_REFERENCE", f"{text!r} is no reference.", hint="Write NAME=SUBJECT:VERSION.")
    return {"name": name, "subject": subject, "version": int(version)}


def _readable(found: dict[str, Any]) -> str:
    """JSON spread over lines; Protobuf as it is."""
    if found.get("schemaType") == "PROTOBUF":
        return str(found["schema"]).rstrip("\n")
    return json_module.dumps(json_module.loads(found["schema"]), indent=2, ensure_ascii=False)
