"""Tables that are polled, for `jdbc`: which rows are new, as SQL, and reading them."""
