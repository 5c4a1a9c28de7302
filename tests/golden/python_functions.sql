-- CREATE FUNCTION ... LANGUAGE PYTHON, DROP FUNCTION, and calls of such functions.

CREATE STREAM s (k STRING KEY, v INT, at TIMESTAMP, l ARRAY<STRING>) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON');

-- plan:
--   define function SHOUT(x VARCHAR(STRING), n INTEGER) returns VARCHAR(STRING), in Python
CREATE FUNCTION shout(x STRING, n INT) RETURNS STRING LANGUAGE PYTHON AS $$
  return x.upper() + '!' * n
$$;

-- One expression needs no return; a function may be defined whole; LANGUAGE may be left out.
-- plan:
--   define function LATER(moment TIMESTAMP) returns TIMESTAMP, in Python
CREATE FUNCTION later(moment TIMESTAMP) RETURNS TIMESTAMP AS $$
from datetime import timedelta
def later(moment): return moment + timedelta(hours=1)
$$;

-- plan:
--   nothing: Function SHOUT already exists.
CREATE FUNCTION IF NOT EXISTS shout(x STRING) RETURNS STRING AS $$ x $$;

-- error: SqlErrorConflict FUNCTION_EXISTS 1:17
-- message: Function SHOUT already exists.
-- hint: CREATE OR REPLACE FUNCTION changes it.
CREATE FUNCTION shout(x STRING) RETURNS STRING AS $$ x $$;

-- plan:
--   define function SHOUT(x VARCHAR(STRING), n BIGINT) returns VARCHAR(STRING), in Python
CREATE OR REPLACE FUNCTION shout(x STRING, n BIGINT) RETURNS STRING AS $$ x.upper() + '!' * n $$;

-- error: BindError RESERVED_FUNCTION 1:17
-- message: UCASE is a function of the language.
CREATE FUNCTION ucase(x STRING) RETURNS STRING AS $$ x $$;

-- error: BindError PYTHON_SYNTAX 1:49
-- message: The body of BAD is not Python: line 1: invalid syntax.
-- hint: It is what stands inside of the function, or defines a function of that name.
CREATE FUNCTION bad(x STRING) RETURNS STRING AS $$ return x + $$;

-- error: BindError PYTHON_SYNTAX 1:49
-- message: The body of BAD is not Python: the body is empty.
-- hint: It is what stands inside of the function, or defines a function of that name.
CREATE FUNCTION bad(x STRING) RETURNS STRING AS $$ $$;

-- error: BindError INVALID_PARAMETER 1:21
-- message: class is no name in Python.
-- hint: Give the parameter another one.
CREATE FUNCTION bad(class STRING) RETURNS STRING AS $$ 1 $$;

-- error: BindError DUPLICATE_PARAMETER 1:17
-- message: The parameter x is named twice.
CREATE FUNCTION bad(x STRING, x INT) RETURNS STRING AS $$ x $$;

-- error: UnsupportedError FUNCTION_LANGUAGE 1:55
-- message: Functions in JAVASCRIPT are not run: their language is PYTHON.
CREATE FUNCTION bad(x STRING) RETURNS STRING LANGUAGE JAVASCRIPT AS $$ x $$;

-- error: ParseError SYNTAX 1:31
-- message: Expected RETURNS, found 'AS'.
CREATE FUNCTION bad(x STRING) AS $$ x $$;

-- EXPLAIN says what runs in Python.

-- plan:
--   topic LOUD: partitions as s
--   define stream LOUD over topic LOUD (key KAFKA, value JSON): K VARCHAR(STRING) KEY, S VARCHAR(STRING), AT TIMESTAMP
--   query CSAS_LOUD_4 (stateless, exactly once) -> topic LOUD, dead letters dlq.LOUD
--     lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; not fast: it calls LATER, SHOUT, in Python
--     in Python, Arrow batches to worker processes and back: LATER, SHOUT
--     project K, SHOUT(K, V) AS S, LATER(AT) AS AT
--       scan stream S over topic s (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER, AT TIMESTAMP, L ARRAY<VARCHAR(STRING)>
CREATE STREAM loud AS SELECT k, SHOUT(k, v) AS s, later(at) AS at FROM s;

-- error: BindError NO_SUCH_SIGNATURE 1:8
-- message: SHOUT doesn't take (VARCHAR(STRING)).
-- hint: It takes (STRING, BIGINT).
SELECT shout(k) FROM s EMIT CHANGES;

-- error: BindError NO_SUCH_SIGNATURE 1:8
-- message: SHOUT doesn't take (INTEGER, VARCHAR(STRING)).
-- hint: It takes (STRING, BIGINT).
SELECT shout(v, k) FROM s EMIT CHANGES;

-- error: BindError UNKNOWN_FUNCTION 1:8
-- message: There is no function SHOT.
-- hint: SHOW FUNCTIONS; lists them.
SELECT shot(k, 1) FROM s EMIT CHANGES;

-- error: UnsupportedError PYTHON_IN_LAMBDA 1:26
-- message: SHOUT is a Python function, which can't stand in a lambda.
-- hint: Give the function the whole ARRAY or MAP.
SELECT transform(l, x => shout(x, 1)) FROM s EMIT CHANGES;

-- plan:
--   push query from the end of the log
--     in Python, Arrow batches to worker processes and back: SHOUT
--     project SHOUT(K, null) AS KSQL_COL_0
--       scan stream S over topic s (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER, AT TIMESTAMP, L ARRAY<VARCHAR(STRING)>
SELECT shout(k, NULL) FROM s EMIT CHANGES;

-- plan:
--   describe function SHOUT
DESCRIBE FUNCTION shout;

-- A query keeps the functions that it calls.
-- error: SqlErrorConflict IN_USE 1:15
-- message: SHOUT can't be dropped: CSAS_LOUD_4 still use it.
-- hint: TERMINATE those queries first, or give the new function another name.
DROP FUNCTION shout;

-- error: SqlErrorConflict IN_USE 1:28
-- message: SHOUT can't be replaced: CSAS_LOUD_4 still use it.
-- hint: TERMINATE those queries first, or give the new function another name.
CREATE OR REPLACE FUNCTION shout(x STRING, n BIGINT) RETURNS STRING AS $$ x $$;

DROP STREAM loud;

-- plan:
--   drop function SHOUT
DROP FUNCTION shout;

-- error: BindError UNKNOWN_FUNCTION 1:15
-- message: There is no function SHOUT.
DROP FUNCTION shout;

-- plan:
--   nothing: Function SHOUT does not exist.
DROP FUNCTION IF EXISTS shout;

-- error: BindError RESERVED_FUNCTION 1:15
-- message: UCASE is a function of the language.
DROP FUNCTION ucase;
