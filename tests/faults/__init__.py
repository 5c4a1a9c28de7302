"""Faults on purpose, and one oracle that says whether anything was lost, repeated, mixed up or made up.

`python -m tests.faults --seed 1 --minutes 10`, or `make faults SEED=1 MINUTES=10`. Everything is looked at from
outside: processes, topics, checkpoint folders, the HTTP door.
"""
