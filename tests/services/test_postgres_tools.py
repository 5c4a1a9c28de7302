"""Tools of PostgreSQL's: psql, SQLAlchemy, and what others ask before they query."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg.types import TypeInfo

from tests.required import refuse
from tests.services.postgres_world import ANN, Kept, psql, serving


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    kept = Kept()
    with serving(kept) as url:
        yield url
    kept.database.close()


@pytest.fixture
def connection(address: str) -> Iterator[psycopg.Connection[dict[str, Any]]]:
    with psycopg.connect(address, user="ann", autocommit=True, row_factory=dict_row) as connection:
        yield connection


def test_psql_queries(address: str) -> None:
    shown = psql(address, "SELECT id, name, moment FROM everything ORDER BY id", "SELECT 1 AS a; SELECT 2 AS b")
    assert "1|Ann|2024-01-02 03:04:05.678000+00\n2|Bob|\n(2 rows)\n" in shown
    assert "a\n1\n(1 row)\nb\n2\n(1 row)\n" in shown


def test_psql_lists(address: str) -> None:
    shown = psql(
        address, r"\d", r"\dt", r"\dv", r"\di", r"\l", r"\dn", r"\du", r"\df", r"\dT", r"\dp", r"\dx", r"\conninfo"
    )
    assert "main|everything|table|ann\nmain|orders|table|ann\n(2 rows)\n" in shown
    assert "main|ann|view|ann\nmain|everything|table|ann\n" in shown
    assert "main|orders_pkey|index|ann|orders\n" in shown
    assert "orion|ann|UTF8" in shown


def test_psql_describes(address: str) -> None:
    shown = psql(address, r"\d everything", r"\d orders", r"\d+ ann", r"\d main.*")
    for line in ("id|integer||not null|", "amount|numeric(10,2)|||", "tags|text[]|||", "place|json|||"):
        assert f"\n{line}\n" in shown
    assert '"orders_pkey" PRIMARY KEY, btree (customer, number)' in shown
    assert 'View "main.ann"' in shown


def sqlalchemy() -> Any:
    if find_spec("sqlalchemy") is None:
        refuse("SQLAlchemy is missing: pip install sqlalchemy")
    return import_module("sqlalchemy")


def test_sqlalchemy_reflects_and_queries(address: str) -> None:
    sa = sqlalchemy()
    engine = sa.create_engine(address.replace("postgresql://", "postgresql+psycopg://ann@"))
    with engine.connect() as connection:
        inspector = sa.inspect(connection)
        assert sorted(inspector.get_table_names()) == ["everything", "orders"]
        assert inspector.get_view_names() == ["ann"]
        assert "main" in inspector.get_schema_names()
        assert inspector.get_pk_constraint("orders")["constrained_columns"] == ["customer", "number"]
        columns = {column["name"]: column for column in inspector.get_columns("everything")}
        assert str(columns["amount"]["type"]) == "NUMERIC(10, 2)"
        assert (columns["id"]["nullable"], columns["name"]["nullable"]) == (False, True)
        for question in ("get_indexes", "get_foreign_keys", "get_unique_constraints", "get_check_constraints"):
            assert getattr(inspector, question)("everything") == []
        table = sa.Table("everything", sa.MetaData(), autoload_with=connection)
        rows = connection.execute(sa.select(table).where(table.c.name == "Ann", table.c.id.in_([1, 2]))).all()
        assert [tuple(row) for row in rows] == [ANN]
        by_day = sa.func.date_trunc("day", table.c.moment)
        totals = sa.select(by_day, sa.func.sum(table.c.amount)).group_by(by_day).order_by(by_day.desc()).limit(10)
        assert len(connection.execute(totals).all()) == 2
        streamed = connection.execution_options(stream_results=True, yield_per=2)
        assert len(streamed.execute(sa.text("SELECT range FROM range(7)")).all()) == 7
    engine.dispose()


def test_psycopg_knows_types(address: str) -> None:
    with psycopg.connect(address, user="ann") as connection:
        info = TypeInfo.fetch(connection, "int4")
        assert info is not None
        assert (info.name, info.oid, info.array_oid, info.regtype) == ("int4", 23, 1007, "integer")
        assert TypeInfo.fetch(connection, "hstore") is None


# What pgjdbc asks for getTables, getColumns and getPrimaryKeys: Metabase, DBeaver, Tableau.
JDBC_TABLES = """
SELECT current_database() AS "TABLE_CAT", n.nspname AS "TABLE_SCHEM", c.relname AS "TABLE_NAME",
    CASE n.nspname ~ '^pg_' OR n.nspname = 'information_schema'
    WHEN true THEN CASE WHEN n.nspname = 'pg_catalog' OR n.nspname = 'information_schema' THEN
        CASE c.relkind WHEN 'r' THEN 'SYSTEM TABLE' WHEN 'v' THEN 'SYSTEM VIEW' ELSE NULL END ELSE NULL END
    WHEN false THEN CASE c.relkind WHEN 'r' THEN 'TABLE' WHEN 'p' THEN 'PARTITIONED TABLE' WHEN 'i' THEN 'INDEX'
        WHEN 'v' THEN 'VIEW' ELSE NULL END ELSE NULL END AS "TABLE_TYPE", d.description AS "REMARKS",
    '' as "TYPE_CAT", '' as "TYPE_SCHEM", '' as "TYPE_NAME", '' AS "SELF_REFERENCING_COL_NAME", '' AS "REF_GENERATION"
FROM pg_catalog.pg_namespace n, pg_catalog.pg_class c
LEFT JOIN pg_catalog.pg_description d ON (c.oid = d.objoid AND d.objsubid = 0 and d.classoid = 'pg_class'::regclass)
WHERE c.relnamespace = n.oid AND (false OR ( c.relkind IN ('r','p') AND n.nspname !~ '^pg_' AND n.nspname <>
'information_schema' )) ORDER BY "TABLE_TYPE","TABLE_SCHEM","TABLE_NAME"
"""
JDBC_COLUMNS = """
SELECT * FROM (SELECT current_database() AS current_database, n.nspname,c.relname,a.attname,a.atttypid,
    a.attnotnull OR (t.typtype = 'd' AND t.typnotnull) AS attnotnull,a.atttypmod,a.attlen,t.typtypmod,
    row_number() OVER (PARTITION BY a.attrelid ORDER BY a.attnum) AS attnum, nullif(a.attidentity, '') as attidentity,
    nullif(a.attgenerated, '') as attgenerated,pg_catalog.pg_get_expr(def.adbin, def.adrelid) AS adsrc,dsc.description,
    t.typbasetype,t.typtype
FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_class c ON (c.relnamespace = n.oid)
JOIN pg_catalog.pg_attribute a ON (a.attrelid=c.oid) JOIN pg_catalog.pg_type t ON (a.atttypid = t.oid)
LEFT JOIN pg_catalog.pg_attrdef def ON (a.attrelid=def.adrelid AND a.attnum = def.adnum)
LEFT JOIN pg_catalog.pg_description dsc ON (c.oid=dsc.objoid AND a.attnum = dsc.objsubid)
LEFT JOIN pg_catalog.pg_class dc ON (dc.oid=dsc.classoid AND dc.relname='pg_class')
LEFT JOIN pg_catalog.pg_namespace dn ON (dc.relnamespace=dn.oid AND dn.nspname='pg_catalog')
WHERE c.relkind in ('r','p','v','f','m') and a.attnum > 0 AND NOT a.attisdropped AND c.relname LIKE E'orders') c
WHERE true ORDER BY nspname,c.relname,attnum
"""
JDBC_KEYS = """
SELECT NULL AS "TABLE_CAT", result."TABLE_SCHEM", result."TABLE_NAME", result."COLUMN_NAME", result."KEY_SEQ",
    result."PK_NAME" FROM (SELECT current_database() AS "TABLE_CAT", n.nspname AS "TABLE_SCHEM",
    ct.relname AS "TABLE_NAME", a.attname AS "COLUMN_NAME",
    (information_schema._pg_expandarray(i.indkey)).n AS "KEY_SEQ", ci.relname AS "PK_NAME",
    information_schema._pg_expandarray(i.indkey) AS "KEYS", a.attnum AS "A_ATTNUM"
FROM pg_catalog.pg_class ct JOIN pg_catalog.pg_attribute a ON (ct.oid = a.attrelid)
JOIN pg_catalog.pg_namespace n ON (ct.relnamespace = n.oid) JOIN pg_catalog.pg_index i ON ( a.attrelid = i.indrelid)
JOIN pg_catalog.pg_class ci ON (ci.oid = i.indexrelid)
WHERE true AND ct.relname = 'orders' AND i.indisprimary ) result
where result."A_ATTNUM" = (result."KEYS").x ORDER BY result."TABLE_NAME", result."PK_NAME", result."KEY_SEQ"
"""
# Metabase's own: tables with their sizes, columns with their keys.
METABASE_TABLES = """
SELECT "n"."nspname" AS "schema", "c"."relname" AS "name", CASE "c"."relkind" WHEN 'r' THEN 'TABLE' WHEN 'v' THEN 'VIEW'
    ELSE NULL END AS "type", "d"."description" AS "description", NULLIF("stat"."n_live_tup", 0) AS "estimated_row_count"
FROM "pg_catalog"."pg_class" AS "c" INNER JOIN "pg_catalog"."pg_namespace" AS "n" ON "c"."relnamespace" = "n"."oid"
LEFT JOIN "pg_catalog"."pg_description" AS "d" ON ("c"."oid" = "d"."objoid") AND ("d"."objsubid" = 0)
    AND ("d"."classoid" = 'pg_class'::regclass)
LEFT JOIN "pg_stat_user_tables" AS "stat" ON ("n"."nspname" = "stat"."schemaname")
    AND ("c"."relname" = "stat"."relname")
WHERE ("c"."relnamespace" = "n"."oid") AND ("n"."nspname" !~ '^pg_') AND ("n"."nspname" <> 'information_schema')
    AND c.relkind in ('r', 'p', 'v', 'f', 'm') AND ("n"."nspname" IN ('main'))
ORDER BY "type" ASC, "schema" ASC, "name" ASC
"""
METABASE_COLUMNS = """
SELECT "c"."column_name" AS "name", CASE WHEN "c"."udt_schema" IN ('public', 'pg_catalog')
    THEN FORMAT('%s', "c"."udt_name")
    ELSE "c"."udt_name" END AS "database-type", "c"."ordinal_position" - 1 AS "database-position",
    "c"."table_schema" AS "table-schema", "c"."table_name" AS "table-name", "pk"."column_name" IS NOT NULL AS "pk?",
    COL_DESCRIPTION(CAST(CAST(FORMAT('%I.%I', CAST("c"."table_schema" AS TEXT), CAST("c"."table_name" AS TEXT))
    AS REGCLASS) AS OID), "c"."ordinal_position") AS "field-comment"
FROM "information_schema"."columns" AS "c" LEFT JOIN (SELECT "tc"."table_schema", "tc"."table_name", "kc"."column_name"
    FROM "information_schema"."table_constraints" AS "tc" INNER JOIN "information_schema"."key_column_usage" AS "kc"
    ON ("tc"."constraint_name" = "kc"."constraint_name") AND ("tc"."table_schema" = "kc"."table_schema")
    AND ("tc"."table_name" = "kc"."table_name") WHERE "tc"."constraint_type" = 'PRIMARY KEY') AS "pk"
    ON ("c"."table_schema" = "pk"."table_schema") AND ("c"."table_name" = "pk"."table_name")
    AND ("c"."column_name" = "pk"."column_name")
WHERE c.table_schema !~ '^information_schema|catalog_history|pg_' AND ("c"."table_name" IN ('orders'))
ORDER BY "table-name" ASC, "database-position" ASC
"""
# What Npgsql reads of types when it connects: Power BI and Excel.
NPGSQL_TYPES = """
SELECT ns.nspname, t.oid, t.typname, t.typtype, t.typnotnull, t.elemtypoid
FROM (SELECT typ.oid, typ.typnamespace, typ.typname, typ.typtype, typ.typrelid, typ.typnotnull, typ.relkind,
    elemtyp.oid AS elemtypoid, elemtyp.typname AS elemtypname, elemcls.relkind AS elemrelkind,
    CASE WHEN elemproc.proname='array_recv' THEN 'a' ELSE elemtyp.typtype END AS elemtyptype, typ.typcategory
    FROM (SELECT typ.oid, typnamespace, typname, typrelid, typnotnull, relkind, typelem AS elemoid, typcategory,
        CASE WHEN proc.proname='array_recv' THEN 'a' ELSE typ.typtype END AS typtype,
        CASE WHEN proc.proname='array_recv' THEN typ.typelem WHEN typ.typtype='r' THEN rngsubtype
            WHEN typ.typtype='m' THEN (SELECT rngtypid FROM pg_range WHERE rngmultitypid = typ.oid)
            WHEN typ.typtype='d' THEN typ.typbasetype END AS elemtypoid
        FROM pg_type AS typ LEFT JOIN pg_class AS cls ON (cls.oid = typ.typrelid)
        LEFT JOIN pg_proc AS proc ON proc.oid = typ.typreceive
        LEFT JOIN pg_range ON (pg_range.rngtypid = typ.oid)) AS typ
    LEFT JOIN pg_type AS elemtyp ON elemtyp.oid = elemtypoid
    LEFT JOIN pg_class AS elemcls ON (elemcls.oid = elemtyp.typrelid)
    LEFT JOIN pg_proc AS elemproc ON elemproc.oid = elemtyp.typreceive) AS t
JOIN pg_namespace AS ns ON (ns.oid = typnamespace)
WHERE typtype IN ('b', 'r', 'm', 'e', 'd') OR (typtype = 'c' AND relkind='c')
    OR (typtype = 'a' AND elemtypoid IS NOT NULL)
ORDER BY CASE WHEN typtype IN ('b', 'e', 'p') THEN 0 WHEN typtype = 'c' THEN 1 WHEN typtype = 'r' THEN 2 ELSE 3 END
"""


def test_jdbc_finds_tables_columns_and_keys(connection: psycopg.Connection[dict[str, Any]]) -> None:
    tables = connection.execute(JDBC_TABLES).fetchall()
    assert [(row["TABLE_SCHEM"], row["TABLE_NAME"], row["TABLE_TYPE"]) for row in tables] == [
        ("main", "everything", "TABLE"),
        ("main", "orders", "TABLE"),
    ]
    columns = connection.execute(JDBC_COLUMNS).fetchall()
    assert [(row["attname"], row["atttypid"], row["attnotnull"]) for row in columns] == [
        ("customer", 23, True),
        ("number", 23, True),
        ("total", 1700, False),
    ]
    keys = connection.execute(JDBC_KEYS).fetchall()
    assert [(row["COLUMN_NAME"], row["KEY_SEQ"], row["PK_NAME"]) for row in keys] == [
        ("customer", 1, "orders_pkey"),
        ("number", 2, "orders_pkey"),
    ]


def test_metabase_finds_tables_and_columns(connection: psycopg.Connection[dict[str, Any]]) -> None:
    tables = connection.execute(METABASE_TABLES).fetchall()
    assert [(row["name"], row["type"]) for row in tables] == [
        ("everything", "TABLE"),
        ("orders", "TABLE"),
        ("ann", "VIEW"),
    ]
    columns = connection.execute(METABASE_COLUMNS).fetchall()
    assert [(row["name"], row["database-type"], row["pk?"]) for row in columns] == [
        ("customer", "int4", True),
        ("number", "int4", True),
        ("total", "numeric", False),
    ]


def test_npgsql_loads_types(connection: psycopg.Connection[dict[str, Any]]) -> None:
    types = {row["typname"]: row for row in connection.execute(NPGSQL_TYPES).fetchall()}
    assert types["int4"]["oid"] == 23
    assert (types["_int4"]["typtype"], types["_int4"]["elemtypoid"]) == ("a", 23)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("SELECT current_database(), current_schema(), current_schemas(false)", ("orion", "main", ["main"])),
        ("SELECT has_table_privilege('everything', 'SELECT') AS a, pg_is_in_recovery() AS b", (True, False)),
        ("SELECT 'everything'::regclass = (SELECT oid FROM pg_class WHERE relname = 'everything') AS a", (True,)),
        ("SELECT 'main.orders'::regclass::oid::regclass::text AS a", None),
        ("SELECT current_setting('server_version_num')::INTEGER AS a", (140000,)),
        ("SELECT set_config('search_path', 'main', false) AS a", ("main",)),
        ("SELECT pg_encoding_to_char(encoding) AS a FROM pg_database WHERE datname = current_database()", ("UTF8",)),
        ("SELECT count(*) FROM information_schema.tables WHERE table_schema = 'main'", (3,)),
        (
            "SELECT data_type AS a FROM information_schema.columns WHERE column_name = 'moment' AND table_name = 'ann'",
            None,
        ),
        ("SELECT json_build_object('a', 1) AS a", ({"a": 1},)),
        (
            "SELECT typinput='pg_catalog.array_in'::regproc as is_array, typtype, typname FROM pg_catalog.pg_type "
            "LEFT JOIN (select ns.oid as nspoid, ns.nspname, r.r from pg_namespace as ns join ( select s.r, "
            "(current_schemas(false))[s.r] as nspname from generate_series(1, array_upper(current_schemas(false), 1)) "
            "as s(r) ) as r using ( nspname )) as sp ON sp.nspoid = typnamespace WHERE typname = '_int4' "
            "ORDER BY sp.r, pg_type.oid DESC LIMIT 1",
            (True, "b", "_int4"),
        ),
        ("SELECT 2 = ANY('{1,2}') AS a FROM pg_am LIMIT 1", (True,)),
    ],
)
def test_what_clients_ask(connection: psycopg.Connection[dict[str, Any]], question: str, answer: Any) -> None:
    row = connection.execute(question).fetchone()
    assert row is not None
    assert answer is None or tuple(row.values()) == answer


def test_the_version_is_one_of_postgresql(connection: psycopg.Connection[dict[str, Any]]) -> None:
    row = connection.execute("SELECT version(), pg_backend_pid(), now() AS now").fetchone()
    assert row is not None
    version, process, now = row.values()
    assert version.startswith("PostgreSQL 14")
    assert process == connection.info.backend_pid
    assert isinstance(now, datetime)
    assert connection.info.server_version == 140000
