"""What the mongodb sink is made of: BSON values, ids, write models, and the transfer of a slot."""
