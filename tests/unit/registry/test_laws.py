"""Laws that hold for all schemas and all histories."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from typing import Any

import fastavro
from fastavro.utils import generate_one
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from orion.registry.compatibility import levels
from orion.registry.compatibility.levels import LEVELS, Level
from orion.registry.errors import RegistryError
from orion.registry.log import MemoryLog
from orion.registry.records import Entry, decode, encode
from orion.registry.schemas import Parsed, Reference, Schema, SchemaType, parse
from orion.registry.state import State
from orion.registry.store import Registry, Wanted

NAMES = st.sampled_from(["a", "b", "c"])


def avro_types(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        inner.map(lambda of: {"type": "array", "items": of}),
        inner.map(lambda of: {"type": "map", "values": of}),
        inner.filter(lambda of: not isinstance(of, list)).map(lambda of: ["null", of] if of != "null" else of),
    )


AVRO_TYPES = st.recursive(
    st.sampled_from(["null", "boolean", "int", "long", "float", "double", "bytes", "string"]), avro_types, max_leaves=3
)


@st.composite
def avro_schemas(draw: st.DrawFn) -> str:
    fields = []
    for name in draw(st.lists(NAMES, unique=True, max_size=3)):
        of = draw(AVRO_TYPES)
        field = {"name": name, "type": of}
        if isinstance(of, list) and draw(st.booleans()):
            field["default"] = None
        fields.append(field)
    return json.dumps({"type": "record", "name": "r", "fields": fields})


JSON_SCHEMAS = st.recursive(
    st.one_of(
        st.booleans(),
        st.just({}),
        st.fixed_dictionaries({"type": st.sampled_from(["string", "number", "integer", "boolean", "null"])}),
        st.fixed_dictionaries({"type": st.just("string"), "maxLength": st.integers(0, 3)}),
        st.fixed_dictionaries({"type": st.just("number"), "minimum": st.integers(0, 3)}),
        st.fixed_dictionaries({"enum": st.lists(st.integers(0, 3), min_size=1, unique=True)}),
    ),
    lambda inner: st.one_of(
        st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.dictionaries(NAMES, inner, max_size=2)},
            optional={"additionalProperties": inner, "required": st.lists(NAMES, unique=True, max_size=2)},
        ),
        st.fixed_dictionaries({"type": st.just("array"), "items": inner}),
        *(
            st.fixed_dictionaries({word: st.lists(inner, min_size=1, max_size=3)})
            for word in ("allOf", "anyOf", "oneOf")
        ),
        st.fixed_dictionaries({"not": inner}),
    ),
    max_leaves=5,
).map(json.dumps)


@st.composite
def protobuf_schemas(draw: st.DrawFn) -> str:
    def field(number: int) -> str:
        of = draw(st.sampled_from(["int32", "int64", "string", "bytes", "bool", "N", "E", "map<string, N>"]))
        label = draw(st.sampled_from(["", "optional ", "repeated "])) if "map" not in of else ""
        return f"{label}{of} f{number} = {number};"

    numbers = draw(st.lists(st.integers(1, 4), unique=True, max_size=4))
    body = " ".join(field(number) for number in numbers)
    choice = f"oneof {draw(NAMES)} {{ int32 g = 7; string h = 8; }}" if draw(st.booleans()) else ""
    return f'syntax = "proto3"; message M {{ {body} {choice} }} message N {{}} enum E {{ X = 0; }}'


SCHEMAS: st.SearchStrategy[tuple[SchemaType, str, str, str]] = st.one_of(
    st.tuples(st.just("AVRO"), avro_schemas(), avro_schemas(), avro_schemas()),
    st.tuples(st.just("JSON"), JSON_SCHEMAS, JSON_SCHEMAS, JSON_SCHEMAS),
    st.tuples(st.just("PROTOBUF"), protobuf_schemas(), protobuf_schemas(), protobuf_schemas()),
)


@given(SCHEMAS)
@settings(max_examples=150, deadline=None)
def test_what_levels_mean(given: tuple[SchemaType, str, str, str]) -> None:
    kind, *texts = given
    oldest, old, new = (parse(kind, text, {}) for text in texts)

    def fits(level: Level, schema: Parsed, *earlier: Parsed) -> bool:
        return not levels.check(level, schema, earlier)

    assert all(fits(level, new, new) and fits(level, new) for level in LEVELS)
    assert fits("NONE", new, old)
    assert fits("FULL", new, old) == (fits("BACKWARD", new, old) and fits("FORWARD", new, old))
    assert fits("BACKWARD", new, old) == fits("FORWARD", old, new)
    for level in ("BACKWARD", "FORWARD", "FULL"):
        assert fits(level, new, oldest, old) == fits(level, new, old)
        every: Level = f"{level}_TRANSITIVE"  # type: ignore[assignment]
        assert fits(every, new, oldest, old) == (fits(level, new, oldest) and fits(level, new, old))


@given(SCHEMAS, st.booleans())
@settings(max_examples=150, deadline=None)
def test_a_standard_form_is_its_own(given: tuple[SchemaType, str, str, str], normalize: bool) -> None:
    kind, text, *_ = given
    once = parse(kind, text, {}, normalize=normalize)
    again = parse(kind, once.canonical, {}, normalize=normalize)
    assert again.canonical == once.canonical
    assert levels.check("FULL", once, [again]) == []


@given(avro_schemas(), avro_schemas())
@settings(max_examples=100, deadline=None)
def test_what_is_backward_compatible_is_read(old: str, new: str) -> None:
    """Another library reads with the new schema what it wrote with the old one."""
    old = old.replace("bytes", "string")  # bytes may be read as a string, but not all bytes are text
    assume(not levels.check("BACKWARD", parse("AVRO", new, {}), [parse("AVRO", old, {})]))
    writer, reader = (fastavro.parse_schema(json.loads(text)) for text in (old, new))
    written = io.BytesIO()
    fastavro.schemaless_writer(written, writer, generate_one(writer))
    fastavro.schemaless_reader(io.BytesIO(written.getvalue()), writer, reader)


class Recording(MemoryLog):
    """Remembers the records, as a topic would."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[tuple[bytes, bytes | None]] = []

    def commit(self, decide: Callable[[], tuple[Sequence[Entry], Any]]) -> Any:
        def noted() -> tuple[Sequence[Entry], Any]:
            entries, result = decide()
            self.records += [encode(entry) for entry in entries]
            return entries, result

        return super().commit(noted)


def folded(records: Sequence[tuple[bytes, bytes | None]]) -> State:
    state = State()
    for record in records:
        entry = decode(*record)
        if entry is not None:
            state.apply(entry)
    return state


def known(state: State) -> dict[str, Any]:
    """All that can be asked of a state."""
    contexts = state.contexts()
    return {
        "subjects": state.subjects,
        "config": state.config,
        "mode": state.mode,
        "contexts": contexts,
        "highest": {context: state.highest_id(context) for context in contexts},
        "ids": {(c, n): (state.schema(c, n), state.uses(c, n)) for c in contexts for n in range(1, 20)},
        "guids": {
            one.schema.guid: (state.by_guid(one.schema.guid), state.id_of(".", one.schema))
            for versions in state.subjects.values()
            for one in versions.values()
        },
        "references": {
            (subject, number): state.referring(subject, number)
            for subject, versions in state.subjects.items()
            for number in versions
        },
    }


SUBJECTS = st.sampled_from(["s", "t", ":.c:s"])
TEXTS = st.sampled_from(['"int"', '"long"', '"string"', '{"type":"array","items":"int"}'])
STEPS = st.one_of(
    st.tuples(st.just("register"), SUBJECTS, TEXTS),
    st.tuples(st.just("refer"), SUBJECTS, SUBJECTS),
    st.tuples(st.just("delete version"), SUBJECTS, st.integers(1, 3), st.booleans()),
    st.tuples(st.just("delete subject"), SUBJECTS, st.booleans()),
    st.tuples(st.just("forget"), SUBJECTS),
    st.tuples(st.just("config"), st.one_of(st.none(), SUBJECTS), st.sampled_from(LEVELS)),
    st.tuples(st.just("no config"), SUBJECTS),
    st.tuples(st.just("mode"), SUBJECTS, st.sampled_from(["READONLY", "READWRITE"])),
    st.tuples(st.just("no mode"), SUBJECTS),
    st.tuples(st.just("no context")),
)


def perform(registry: Registry, step: tuple[Any, ...]) -> None:
    match step:
        case ("register", subject, text):
            first = registry.register(subject, Wanted(Schema(text)))
            # The same again is the same.
            assert registry.register(subject, Wanted(Schema(text))) == first
            assert registry.lookup(subject, Schema(text)) == first
        case ("refer", subject, other):
            references = (Reference("other", other, -1),)
            registry.register(subject, Wanted(Schema('{"type":"map","values":"int"}', "AVRO", references)))
        case ("delete version", subject, number, permanent):
            registry.delete_version(subject, number, permanent=permanent)
        case ("delete subject", subject, permanent):
            registry.delete_subject(subject, permanent=permanent)
        case ("forget", subject):
            for permanent in (False, True):
                registry.delete_subject(subject, permanent=permanent)
        case ("config", subject, level):
            registry.settings.set_config(subject, {"compatibilityLevel": level})
        case ("no config", subject):
            registry.settings.remove_config(subject)
        case ("mode", subject, mode):
            registry.settings.set_mode(subject, mode)
        case ("no mode", subject):
            registry.settings.remove_mode(subject)
        case ("no context",):
            registry.delete_context(".c")


@given(st.lists(STEPS, min_size=5, max_size=25))
@settings(max_examples=300, deadline=None)
def test_the_log_is_all_there_is_to_know(steps: list[tuple[Any, ...]]) -> None:
    """A restart knows the same, and so does one after the topic was compacted; a refusal leaves no trace."""
    log = Recording()
    registry = Registry(log)
    registry.settings.set_config(None, {"compatibilityLevel": "NONE"})
    given_ids: dict[tuple[str, int], Schema] = {}
    for step in steps:
        before = len(log.records)
        try:
            perform(registry, step)
        except RegistryError:
            assert len(log.records) == before or step[0] == "forget"
        for one in registry.all_versions(deleted=True):
            place = (one.subject.rpartition(":")[0], one.id)
            # An id means one schema for good.
            assert given_ids.setdefault(place, one.schema) == one.schema
    assert known(folded(log.records)) == known(log.state)
    last = {key: offset for offset, (key, _) in enumerate(log.records)}
    kept = [(key, value) for offset, (key, value) in enumerate(log.records) if last[key] == offset]
    assert known(folded(kept)) == known(log.state)
    without_tombstones = [(key, value) for key, value in kept if value is not None]
    assert known(folded(without_tombstones)) == known(log.state)
