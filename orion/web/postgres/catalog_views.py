"""PostgreSQL's catalog tables and information_schema, as temporary views over what DuckDB tells of itself."""

from __future__ import annotations

from collections.abc import Iterator

from orion.web.postgres.types import ARRAYS, SCALARS, PgType

# Each name with its SELECT, in the order of use. {here} is the database of the views, {database} what the client calls
# it. An index of a key has its table's number and a thousand million more. Names are found however they are written,
# since they are so in queries.
_VIEWS = {
    "pg_namespace": """
        SELECT oid::UINTEGER AS oid, schema_name AS nspname, 10::UINTEGER AS nspowner, NULL::VARCHAR[] AS nspacl
        FROM duckdb_schemas() WHERE database_name = {here} AND schema_name = 'main'
        UNION ALL VALUES (11, 'pg_catalog', 10, NULL), (13000, 'information_schema', 10, NULL)""",
    "orion_tables": """
        SELECT v.view_oid::UINTEGER AS oid, v.schema_oid::UINTEGER AS schema_oid, v.schema_name, v.view_name AS name,
            k.kind, v.column_count AS columns,
            k.key, v.sql FROM duckdb_views() v JOIN {known} k ON k.name = v.view_name
        WHERE v.database_name = {here} AND v.schema_name = 'main'""",
    "orion_columns": """
        SELECT t.oid AS table_oid, t.schema_oid, t.schema_name, t.name COLLATE NOCASE AS table_name,
            c.column_name COLLATE NOCASE AS column_name, c.column_index AS number, c.data_type,
            NOT list_contains(t.key, c.column_name) AS nullable, nullif(list_position(t.key, c.column_name), 0) AS part,
            c.numeric_precision AS digits, c.numeric_scale AS scale, duckdb_oid(c.data_type) AS type_oid,
            starts_with(c.data_type, 'DECIMAL(') AS exact
        FROM duckdb_columns() c JOIN orion_tables t ON t.name = c.table_name
        WHERE c.database_name = {here} AND c.schema_name = 'main'""",
    "orion_keys": """
        SELECT table_oid, (1000000000 + table_oid)::UINTEGER AS oid, schema_oid, table_name || '_pkey' AS name,
            list(column_name ORDER BY part) AS names, list(number::SMALLINT ORDER BY part) AS keys
        FROM orion_columns WHERE part IS NOT NULL GROUP BY ALL""",
    "orion_relations": """
        SELECT oid, schema_oid, name, kind, columns, len(key) > 0 AS indexed FROM orion_tables
        UNION ALL SELECT oid, schema_oid, name, 'i', len(names), false FROM orion_keys""",
    "pg_class": """
        SELECT oid, name COLLATE NOCASE AS relname, schema_oid AS relnamespace, 0::UINTEGER AS reltype,
            0::UINTEGER AS reloftype, 10::UINTEGER AS relowner,
            if(kind = 'r', 2, if(kind = 'i', 403, 0)) AS relam, oid AS relfilenode, 0::UINTEGER AS reltablespace,
            0 AS relpages,
            -1::FLOAT AS reltuples, 0 AS relallvisible, 0::UINTEGER AS reltoastrelid, indexed AS relhasindex,
            false AS relisshared, 'p' AS relpersistence, kind AS relkind, columns::SMALLINT AS relnatts,
            0::SMALLINT AS relchecks, false AS relhasoids, false AS relhasrules, false AS relhastriggers,
            false AS relhassubclass, false AS relrowsecurity, false AS relforcerowsecurity, true AS relispopulated,
            'd' AS relreplident, false AS relispartition, 0 AS relrewrite, 0 AS relfrozenxid, 0 AS relminmxid,
            NULL::VARCHAR[] AS relacl, NULL::VARCHAR[] AS reloptions, NULL::VARCHAR AS relpartbound
        FROM orion_relations""",
    "pg_type": """
        SELECT oid::UINTEGER AS oid, typname, 11::UINTEGER AS typnamespace, 10::UINTEGER AS typowner,
            typlen::SMALLINT AS typlen,
            typlen BETWEEN 1 AND 8 AS typbyval, 'b' AS typtype, typcategory, false AS typispreferred,
            true AS typisdefined, ',' AS typdelim, 0::UINTEGER AS typrelid, 0 AS typsubscript,
            typelem::UINTEGER AS typelem,
            typarray::UINTEGER AS typarray, support || 'in' AS typinput, support || 'out' AS typoutput,
            support || 'recv' AS typreceive, support || 'send' AS typsend,
            '-' AS typmodin, '-' AS typmodout, '-' AS typanalyze, 'i' AS typalign, 'p' AS typstorage,
            false AS typnotnull,
            0::UINTEGER AS typbasetype, -1 AS typtypmod, 0 AS typndims, 0::UINTEGER AS typcollation,
            NULL::VARCHAR AS typdefaultbin, NULL::VARCHAR AS typdefault, NULL::VARCHAR[] AS typacl
        FROM (VALUES TYPES) t(oid, typname, typlen, typcategory, typelem, typarray, support)""",
    "pg_attribute": """
        SELECT a.attrelid, a.attname, a.atttypid, -1 AS attstattarget, t.typlen AS attlen, a.attnum::SMALLINT AS attnum,
            if(t.typcategory = 'A', 1, 0) AS attndims, -1 AS attcacheoff, a.atttypmod, t.typbyval AS attbyval,
            'p' AS attstorage, 'i' AS attalign, a.attnotnull, false AS atthasdef, false AS atthasmissing,
            '' AS attidentity,
            '' AS attgenerated, '' AS attcompression, false AS attisdropped, true AS attislocal, 0 AS attinhcount,
            0::UINTEGER AS attcollation, NULL::VARCHAR[] AS attacl, NULL::VARCHAR[] AS attoptions,
            NULL::VARCHAR[] AS attfdwoptions, NULL::VARCHAR AS attmissingval
        FROM (
            SELECT table_oid AS attrelid, column_name AS attname, type_oid AS atttypid, number AS attnum,
                if(exact, (digits << 16 | scale) + 4, -1) AS atttypmod, NOT nullable AS attnotnull
            FROM orion_columns
            UNION ALL
            SELECT (1000000000 + table_oid)::UINTEGER, column_name, type_oid, part, -1, false
            FROM orion_columns WHERE part IS NOT NULL
        ) a LEFT JOIN pg_type t ON t.oid = a.atttypid""",
    "pg_constraint": """
        SELECT oid, name AS conname, schema_oid AS connamespace, 'p' AS contype,
            false AS condeferrable, false AS condeferred, true AS convalidated, table_oid AS conrelid,
            0::UINTEGER AS contypid, oid AS conindid, 0::UINTEGER AS conparentid, 0::UINTEGER AS confrelid,
            ' ' AS confupdtype, ' ' AS confdeltype, ' ' AS confmatchtype, true AS conislocal, 0 AS coninhcount,
            true AS connoinherit, keys AS conkey, NULL::SMALLINT[] AS confkey,
            'PRIMARY KEY (' || array_to_string(names, ', ') || ')' AS conbin
        FROM orion_keys""",
    "pg_index": """
        SELECT conindid AS indexrelid, conrelid AS indrelid, len(conkey)::SMALLINT AS indnatts,
            len(conkey)::SMALLINT AS indnkeyatts, true AS indisunique, contype = 'p' AS indisprimary,
            false AS indisexclusion, true AS indimmediate, false AS indisclustered, true AS indisvalid,
            false AS indcheckxmin, true AS indisready, true AS indislive, false AS indisreplident,
            false AS indnullsnotdistinct, conkey AS indkey, [0 for _ in conkey]::BIGINT[] AS indcollation,
            [0 for _ in conkey]::BIGINT[] AS indclass, [0 for _ in conkey]::SMALLINT[] AS indoption,
            NULL::VARCHAR AS indexprs, NULL::VARCHAR AS indpred FROM pg_constraint""",
    "pg_indexes": """
        SELECT n.nspname AS schemaname, t.relname AS tablename, i.relname AS indexname, NULL::VARCHAR AS tablespace,
            'CREATE UNIQUE INDEX ' || i.relname || ' ON ' || n.nspname || '.' || t.relname || ' USING btree '
                || regexp_replace(c.conbin, '^[A-Z ]*', '') AS indexdef, x.indexrelid,
            (SELECT list(a.attname ORDER BY a.attnum) FROM pg_attribute a WHERE a.attrelid = x.indexrelid) AS indexcols
        FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
        JOIN pg_namespace n ON n.oid = t.relnamespace JOIN pg_constraint c ON c.conindid = x.indexrelid""",
    "pg_database": """
        SELECT 1::UINTEGER AS oid, {database} AS datname, 10::UINTEGER AS datdba, 6 AS encoding, 'c' AS datlocprovider,
            false AS datistemplate, true AS datallowconn, -1 AS datconnlimit, 0 AS dattablespace, 'C' AS datcollate,
            'C' AS datctype, NULL::VARCHAR AS daticulocale, NULL::VARCHAR AS datcollversion,
            NULL::VARCHAR[] AS datacl""",
    "pg_tables": """
        SELECT n.nspname AS schemaname, c.relname AS tablename, {user} AS tableowner, NULL::VARCHAR AS tablespace,
            c.relhasindex AS hasindexes, false AS hasrules, false AS hastriggers, false AS rowsecurity
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r'""",
    "pg_views": """
        SELECT schema_name AS schemaname, name COLLATE NOCASE AS viewname, {user} AS viewowner, sql AS definition
        FROM orion_tables WHERE kind = 'v'""",
    "pg_roles": """
        SELECT 10::UINTEGER AS oid, {user} AS rolname, false AS rolsuper, true AS rolinherit, false AS rolcreaterole,
            false AS rolcreatedb, true AS rolcanlogin, false AS rolreplication, -1 AS rolconnlimit,
            NULL::VARCHAR AS rolpassword, NULL::TIMESTAMPTZ AS rolvaliduntil, false AS rolbypassrls,
            NULL::VARCHAR[] AS rolconfig""",
    "pg_user": "SELECT rolname AS usename, oid AS usesysid, false AS usecreatedb, false AS usesuper FROM pg_roles",
    "pg_am": "SELECT * FROM (VALUES (2, 'heap', 't'), (403, 'btree', 'i')) t(oid, amname, amtype)",
    "pg_proc": """
        SELECT oid::UINTEGER AS oid, proname, 11::UINTEGER AS pronamespace, 10::UINTEGER AS proowner,
            12::UINTEGER AS prolang, 'f' AS prokind,
            0::UINTEGER AS prorettype, NULL::BIGINT[] AS proargtypes, false AS proretset, 0 AS provariadic, '' AS prosrc
        FROM (VALUES (750, 'array_in'), (2400, 'array_recv')) t(oid, proname)""",
    "pg_settings": """
        SELECT name, setting, NULL::VARCHAR AS unit, '' AS category, '' AS short_desc, 'user' AS context,
            'string' AS vartype, 'default' AS source, setting AS boot_val, setting AS reset_val
        FROM {settings} t(name, setting)""",
    "information_schema_schemata": """
        SELECT {database} AS catalog_name, nspname AS schema_name, {user} AS schema_owner FROM pg_namespace""",
    "information_schema_tables": """
        SELECT {database} AS table_catalog, n.nspname AS table_schema, c.relname AS table_name,
            if(c.relkind = 'v', 'VIEW', 'BASE TABLE') AS table_type, NULL::VARCHAR AS self_referencing_column_name,
            'NO' AS is_insertable_into, 'NO' AS is_typed
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'v')""",
    "information_schema_views": """
        SELECT {database} AS table_catalog, schemaname AS table_schema, viewname AS table_name,
            definition AS view_definition, 'NONE' AS check_option, 'NO' AS is_updatable FROM pg_views""",
    "information_schema_columns": """
        SELECT {database} AS table_catalog, c.schema_name AS table_schema, c.table_name, c.column_name,
            c.number AS ordinal_position, NULL::VARCHAR AS column_default, if(c.nullable, 'YES', 'NO') AS is_nullable,
            if(t.typcategory = 'A', 'ARRAY', format_type(c.type_oid, NULL)) AS data_type,
            NULL::INTEGER AS character_maximum_length, NULL::INTEGER AS character_octet_length,
            c.digits AS numeric_precision, if(c.digits IS NULL, NULL, if(c.exact, 10, 2)) AS numeric_precision_radix,
            c.scale AS numeric_scale, if(t.typcategory = 'D', 6, NULL) AS datetime_precision,
            NULL::VARCHAR AS character_set_name, NULL::VARCHAR AS collation_name, NULL::VARCHAR AS domain_name,
            {database} AS udt_catalog, 'pg_catalog' AS udt_schema, t.typname AS udt_name, 'NO' AS is_identity,
            NULL::VARCHAR AS identity_generation, 'NEVER' AS is_generated, NULL::VARCHAR AS generation_expression,
            'NO' AS is_updatable
        FROM orion_columns c LEFT JOIN pg_type t ON t.oid = c.type_oid""",
    "information_schema_table_constraints": """
        SELECT {database} AS constraint_catalog, n.nspname AS constraint_schema, k.conname AS constraint_name,
            {database} AS table_catalog, n.nspname AS table_schema, c.relname AS table_name,
            if(k.contype = 'p', 'PRIMARY KEY', 'UNIQUE') AS constraint_type, 'NO' AS is_deferrable,
            'NO' AS initially_deferred
        FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace""",
    "information_schema_key_column_usage": """
        SELECT {database} AS constraint_catalog, n.nspname AS constraint_schema, k.conname AS constraint_name,
            {database} AS table_catalog, n.nspname AS table_schema, c.relname AS table_name, a.attname AS column_name,
            list_position(k.conkey, a.attnum) AS ordinal_position, NULL::INTEGER AS position_in_unique_constraint
        FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
        JOIN pg_attribute a ON a.attrelid = k.conrelid AND list_contains(k.conkey, a.attnum)""",
}

# What has no rows here: name, and the columns that clients ask for. Those of numbers end in a plus sign,
# those of lists of numbers in two.
_EMPTY = """
pg_inherits: inhrelid+ inhparent+ inhseqno+ inhdetachpending
pg_policy: oid+ polname polrelid+ polcmd polpermissive polroles++ polqual polwithcheck
pg_policies: schemaname tablename policyname permissive roles cmd qual with_check
pg_statistic_ext: oid+ stxrelid+ stxname stxnamespace+ stxowner+ stxstattarget+ stxkeys++ stxkind++ stxexprs
pg_publication: oid+ pubname pubowner+ puballtables
pg_publication_rel: oid+ prpubid+ prrelid+ prqual prattrs++
pg_publication_namespace: oid+ pnpubid+ pnnspid+
pg_partitioned_table: partrelid+ partstrat partnatts+ partattrs++
pg_foreign_table: ftrelid+ ftserver+ ftoptions
pg_foreign_server: oid+ srvname srvowner+ srvfdw+ srvoptions
pg_trigger: oid+ tgrelid+ tgname tgfoid+ tgenabled tgisinternal tgconstraint+ tgdeferrable tginitdeferred tgparentid+
pg_rewrite: oid+ rulename ev_class+ ev_type ev_enabled is_instead
pg_range: rngtypid+ rngsubtype+ rngmultitypid+ rngcollation+ rngsubopc+
pg_enum: oid+ enumtypid+ enumsortorder+ enumlabel
pg_extension: oid+ extname extowner+ extnamespace+ extversion
pg_available_extensions: name default_version installed_version comment
pg_matviews: schemaname matviewname matviewowner definition
pg_sequence: seqrelid+ seqtypid+ seqstart+ seqincrement+ seqmax+ seqmin+ seqcache+ seqcycle
pg_sequences: schemaname sequencename sequenceowner data_type
pg_language: oid+ lanname
pg_depend: classid+ objid+ objsubid+ refclassid+ refobjid+ refobjsubid+ deptype
pg_attrdef: oid+ adrelid+ adnum+ adbin adsrc
pg_description: objoid+ classoid+ objsubid+ description
pg_shdescription: objoid+ classoid+ description
pg_tablespace: oid+ spcname spcowner+ spcacl spcoptions
pg_collation: oid+ collname collnamespace+ collprovider collisdeterministic collencoding+ collcollate collctype
pg_opclass: oid+ opcname opcmethod+ opcdefault opcintype+ opcnamespace+
pg_operator: oid+ oprname oprnamespace+ oprleft+ oprright+ oprresult+
pg_auth_members: roleid+ member+ grantor+ admin_option
pg_stat_activity: pid+ datname usename application_name state query backend_start
pg_stat_user_tables: relid+ schemaname relname n_live_tup+ seq_scan+
pg_locks: locktype pid+ mode granted
information_schema_referential_constraints: constraint_schema constraint_name unique_constraint_schema \
unique_constraint_name update_rule delete_rule match_option
information_schema_constraint_column_usage: table_schema table_name column_name constraint_schema constraint_name
information_schema_routines: routine_schema routine_name routine_type data_type specific_name
information_schema_sequences: sequence_schema sequence_name data_type
information_schema_table_privileges: grantor grantee table_schema table_name privilege_type is_grantable
information_schema_triggers: trigger_schema trigger_name event_object_schema event_object_table
"""


# Types whose functions have an underscore, as date_in; others haven't, as int4in.
_UNDERSCORED = frozenset("json date time timestamp timestamptz interval numeric uuid".split())
_SORTS = ("VARCHAR", "UINTEGER", "UINTEGER[]")


def _empty() -> Iterator[tuple[str, str]]:
    for line in _EMPTY.strip().splitlines():
        name, _, columns = line.partition(": ")
        parts = (f"NULL::{_SORTS[c.count('+')]} AS {c.rstrip('+')}" for c in columns.split())
        yield name, f"SELECT {', '.join(parts)} WHERE false"


def definitions() -> Iterator[tuple[str, str]]:
    """Each name with what makes it."""
    types = ", ".join(_type(t, 0) for t in SCALARS) + ", "
    types += ", ".join(_type(array, scalar.oid) for scalar, array in zip(SCALARS, ARRAYS, strict=True))
    for name, select in (*_empty(), *_VIEWS.items()):
        yield name, f'CREATE OR REPLACE TEMP VIEW "{name}" AS {select.replace("VALUES TYPES", f"VALUES {types}")}'


def _type(type_: PgType, element: int) -> str:
    support = "array_" if element else type_.name + "_" * (type_.name in _UNDERSCORED)
    return f"({type_.oid}, '{type_.name}', {type_.size}, '{type_.category}', {element}, {type_.array}, '{support}')"
