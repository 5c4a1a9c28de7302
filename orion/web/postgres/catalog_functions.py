"""Functions and types that clients take for granted, as temporary macros of DuckDB's."""

from __future__ import annotations

import re
from collections.abc import Iterator

from orion import __version__
from orion.web.postgres.settings import VERSION
from orion.web.postgres.types import BY_OID, duckdb_words

# name(arguments): what it gives. Names in them begin with _: an argument may be a column of the same name.
# Of one name, those with other arguments follow with a comma.
_MACROS = """
version(): 'PostgreSQL VERSION (Orion ORION)'
current_database(): {database}
current_catalog(): {database}
current_user(): {user}
session_user(): {user}
current_role(): {user}
user(): {user}
pg_advisory_lock(key): NULL, (key, other): NULL
pg_advisory_lock_shared(key): NULL, (key, other): NULL
pg_try_advisory_lock(key): true, (key, other): true
pg_try_advisory_lock_shared(key): true, (key, other): true
pg_advisory_xact_lock(key): NULL, (key, other): NULL
pg_try_advisory_xact_lock(key): true, (key, other): true
pg_advisory_unlock(key): true, (key, other): true
pg_advisory_unlock_shared(key): true, (key, other): true
pg_advisory_unlock_all(): NULL
inet_server_addr(): NULL::VARCHAR
inet_server_port(): NULL::INTEGER
inet_client_addr(): NULL::VARCHAR
inet_client_port(): NULL::INTEGER
txid_current(): 0::BIGINT
pg_postmaster_start_time(): now()
pg_conf_load_time(): now()
pg_backend_pid(): {process}
pg_get_userbyid(oid): {user}
pg_is_in_recovery(): false
pg_table_is_visible(oid): true
pg_type_is_visible(oid): true
pg_function_is_visible(oid): true
pg_is_other_temp_schema(oid): false
pg_my_temp_schema(): 0
pg_encoding_to_char(encoding): 'UTF8'
pg_char_to_encoding(name): 6
pg_client_encoding(): 'UTF8'
pg_relation_size(oid): 0::BIGINT, (oid, fork): 0::BIGINT
pg_table_size(oid): 0::BIGINT
pg_indexes_size(oid): 0::BIGINT
pg_total_relation_size(oid): 0::BIGINT
pg_database_size(oid): 0::BIGINT
pg_tablespace_location(oid): ''
pg_relation_is_publishable(oid): false
pg_get_partkeydef(oid): NULL::VARCHAR
pg_get_serial_sequence(tab, col): NULL::VARCHAR
pg_get_ruledef(oid): NULL::VARCHAR, (oid, pretty): NULL::VARCHAR
pg_get_triggerdef(oid): NULL::VARCHAR, (oid, pretty): NULL::VARCHAR
pg_get_statisticsobjdef_columns(oid): NULL::VARCHAR
pg_get_function_result(oid): NULL::VARCHAR
pg_get_function_arguments(oid): NULL::VARCHAR
pg_get_function_identity_arguments(oid): NULL::VARCHAR
pg_get_viewdef(oid): NULL::VARCHAR, (oid, pretty): NULL::VARCHAR
pg_get_expr(tree, relation): tree::VARCHAR, (tree, relation, pretty): tree::VARCHAR
pg_options_to_table(options): NULL
pg_stat_get_numscans(oid): 0
obj_description(oid): NULL::VARCHAR, (oid, catalog): NULL::VARCHAR
col_description(oid, col): NULL::VARCHAR
shobj_description(oid, catalog): NULL::VARCHAR
has_table_privilege(tab, privilege): true, (who, tab, privilege): true
has_column_privilege(tab, col, privilege): true, (who, tab, col, privilege): true
has_any_column_privilege(tab, privilege): true, (who, tab, privilege): true
has_schema_privilege(sch, privilege): true, (who, sch, privilege): true
has_database_privilege(db, privilege): true, (who, db, privilege): true
has_function_privilege(f, privilege): true, (who, f, privilege): true
has_sequence_privilege(seq, privilege): true, (who, seq, privilege): true
pg_has_role(role, privilege): true, (who, role, privilege): true
current_schemas(implicit): if(implicit, ['pg_catalog', current_schema()], [current_schema()])
set_config(setting, val, is_local): val::VARCHAR
current_setting(setting): (SELECT _v FROM {settings} _s(_k, _v) WHERE lower(_k) = lower(setting)), \
(setting, missing_ok): (SELECT _v FROM {settings} _s(_k, _v) WHERE lower(_k) = lower(setting))
quote_ident(name): '"' || replace(name, '"', '""') || '"'
quote_literal(val): '''' || replace(val::VARCHAR, '''', '''''') || ''''
format_type(type_oid, modifier): (SELECT if(type_oid = 1700 AND modifier > 4, \
'numeric(' || ((modifier - 4) >> 16) || ',' || ((modifier - 4) & 65535) || ')', _spelled) \
FROM (VALUES TYPES) _t(_oid, _name, _spelled) WHERE _oid = type_oid)
to_regtype(given): (SELECT _oid::UINTEGER FROM (VALUES TYPES) _t(_oid, _name, _spelled) \
WHERE lower(given) IN (_name, _spelled, 'pg_catalog.' || _name))
regtype_name(type_oid): format_type(type_oid, NULL)
regclass_name(class_oid): (SELECT _name FROM (SELECT oid, relname FROM pg_class) _t(_oid, _name) WHERE _oid = class_oid)
to_regclass(given): (SELECT _oid FROM (SELECT c.oid, c.relname, n.nspname FROM pg_class c \
JOIN pg_namespace n ON n.oid = c.relnamespace) _t(_oid, _name, _schema) \
WHERE replace(given::VARCHAR, '"', '') IN (_name, _schema || '.' || _name, _oid::VARCHAR) \
ORDER BY _schema = current_schema() DESC LIMIT 1)
to_regnamespace(given): (SELECT _oid FROM (SELECT oid, nspname FROM pg_namespace) _t(_oid, _name) \
WHERE _name = replace(given, '"', ''))
regnamespace_name(schema_oid): (SELECT _name FROM (SELECT oid, nspname FROM pg_namespace) _t(_oid, _name) \
WHERE _oid = schema_oid)
to_regproc(given): replace(given, 'pg_catalog.', '')
array_upper(list, dimension): len(list)::INTEGER
array_lower(list, dimension): 1
regproc_name(given): given
pg_get_constraintdef(con): (SELECT _def FROM (SELECT oid, conbin FROM pg_constraint) _t(_oid, _def) WHERE _oid = con), \
(con, pretty): (SELECT _def FROM (SELECT oid, conbin FROM pg_constraint) _t(_oid, _def) WHERE _oid = con)
pg_get_indexdef(idx): (SELECT _def FROM (SELECT indexrelid, indexdef FROM pg_indexes) _t(_oid, _def) \
WHERE _oid = idx), (idx, col, pretty): (SELECT if(col = 0, _def, _cols[col]) FROM \
(SELECT indexrelid, indexdef, indexcols FROM pg_indexes) _t(_oid, _def, _cols) WHERE _oid = idx)
_pg_expandarray(list): unnest(list_transform(list, lambda x, n: struct_pack(x := x, n := n)))
orion_time_text(moment, form): replace(strftime(moment, form), chr(1), quarter(moment)::VARCHAR)
orion_digits(val, form, least, bare): (SELECT if(bare AND starts_with(_d, '0.'), substr(_d, 2), \
if(length(_d) < least, lpad(_d, least, '0'), _d)) FROM (SELECT format(form, abs(val::DOUBLE))) _t(_d))
orion_number_text(val, form, width, fits, least, bare): CASE WHEN abs(val) >= fits \
THEN repeat('#', greatest(width, 1)) WHEN val IS NOT NULL THEN \
(SELECT if(length(_n) < width, lpad(_n, width, ' '), _n) \
FROM (SELECT if(val < 0, '-', '') || orion_digits(val, form, least, bare)) _t(_n)) END
duckdb_oid(duckdb_type): coalesce((SELECT _oid FROM (VALUES WORDS) _t(_word, _oid) \
WHERE _word = regexp_replace(duckdb_type, '^DECIMAL\\(.*\\)', 'DECIMAL')), \
CASE WHEN regexp_matches(duckdb_type, '^TIMESTAMP_') THEN 1114 WHEN duckdb_type = 'UBIGINT' THEN 1700 \
WHEN duckdb_type = 'TIME_NS' THEN 1083 \
WHEN regexp_matches(duckdb_type, '^(STRUCT|MAP|UNION)|\\]$') THEN 114 ELSE 25 END)::UINTEGER
"""

_TYPES = ("name", "regclass", "regtype", "regproc", "regprocedure", "regnamespace", "regrole", "xid", "int2vector",
          "oidvector", "aclitem", "sql_identifier", "character_data", "cardinal_number", "yes_or_no")  # fmt: skip

_LINE = re.compile(r"^(\w+)(\([^)]*\): .*)$", re.MULTILINE)
_OVERLOAD = re.compile(r", (\([\w, ]*\)): ")


def definitions() -> Iterator[tuple[str, str]]:
    """Each name with what makes it."""
    spelled = ", ".join(f"({t.oid}, '{t.name}', '{t.spelled}')" for t in BY_OID.values())
    words = ", ".join(f"('{word}', {oid})" for word, oid in duckdb_words())
    for name in _TYPES:
        yield name, f"CREATE TEMP TYPE {name} AS VARCHAR"
    for name, body in _LINE.findall(_MACROS):
        filled = body.replace("VERSION", VERSION).replace("ORION", __version__)
        filled = filled.replace("VALUES TYPES", f"VALUES {spelled}").replace("VALUES WORDS", f"VALUES {words}")
        parts = _OVERLOAD.sub(r", \1 AS ", filled.replace("): ", ") AS ", 1))
        yield name, f"CREATE OR REPLACE TEMP MACRO {name}{parts}"
