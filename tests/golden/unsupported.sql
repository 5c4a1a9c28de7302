-- What ksqlDB runs and Orion doesn't yet: told apart from what is wrong.

CREATE STREAM s (k STRING KEY, v INT, m MAP<STRING, INT>) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON');

CREATE TABLE t (k STRING PRIMARY KEY, v INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON');

-- error: UnsupportedError ALTER_SYSTEM 1:1
-- message: The settings of a server are not changed while it runs.
-- hint: Write them into orion.yaml and start again, or SET them for this session.
ALTER SYSTEM 'auto.offset.reset' = 'earliest';

-- What a client does, it does itself.
-- error: ParseError CLIENT_STATEMENT 1:1
-- message: RUN SCRIPT is for the files of a client: `orion sql` runs it, a server doesn't.
-- caret:
--   1 | RUN SCRIPT 'a.sql';
--       ^^^^^^^^^^
RUN SCRIPT 'a.sql';

-- error: ParseError CLIENT_STATEMENT 1:1
-- message: SPOOL is for the files of a client: `orion sql` runs it, a server doesn't.
SPOOL OFF;
