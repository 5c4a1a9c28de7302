-- Is somebody trying out a stolen card? More than three verification attempts of a card within five seconds.

CREATE STREAM card_attempts (
  card STRING KEY,
  attempt_id STRING,
  merchant STRING,
  attempted_at BIGINT
) WITH (
  KAFKA_TOPIC = 'card_attempts', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON', PARTITIONS = 4, TIMESTAMP = 'attempted_at'
);

-- Windows hop: a new one of five seconds begins every second. Tumbling windows would cut a burst that runs over a
-- border in two, and neither part may be large enough: of the 56 cards in this example they find 48.
-- With a hop of one second, whatever happens within four seconds is in one window together; a burst that takes
-- between four and five may still be cut. A smaller hop closes that gap and costs a window more for each step.
-- The grace is a day because attempts are replayed here: one partition may be read to its end before another is begun.
-- Live, a minute is enough.
-- A card is in the table once for each window that holds the burst. Only groups that fulfil HAVING are there.
CREATE TABLE possible_fraud AS
  SELECT card, COUNT(*) AS attempts, COUNT_DISTINCT(merchant) AS merchants
  FROM card_attempts
  WINDOW HOPPING (SIZE 5 SECONDS, ADVANCE BY 1 SECOND, GRACE PERIOD 1 DAY)
  GROUP BY card
  HAVING COUNT(*) > 3
  EMIT CHANGES;
