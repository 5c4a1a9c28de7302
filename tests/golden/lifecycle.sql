-- TERMINATE, PAUSE, RESUME.

-- plan:
--   nothing: There are no queries.
TERMINATE ALL;

CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 'in', VALUE_FORMAT = 'JSON');

CREATE STREAM a AS SELECT * FROM s;

CREATE STREAM b AS SELECT * FROM s;

-- plan:
--   pause CSAS_A_1
PAUSE csas_a_1;

-- plan:
--   resume CSAS_A_1
RESUME CSAS_A_1;

-- plan:
--   pause CSAS_A_1
--   pause CSAS_B_3
PAUSE ALL;

-- plan:
--   resume CSAS_A_1
--   resume CSAS_B_3
RESUME ALL;

-- plan:
--   terminate CSAS_A_1 and delete its checkpoint
TERMINATE CSAS_A_1;

-- error: NotFound NOT_FOUND none
-- message: There is no query CSAS_A_1.
-- hint: Did you mean CSAS_B_3?
PAUSE CSAS_A_1;

-- error: NotFound NOT_FOUND none
-- message: There is no query X.
RESUME x;

-- error: ParseError SYNTAX 1:10
-- message: Expected a query's id, or ALL, found the end of the statement.
TERMINATE
