"""What the s3 sink is made of: where objects stand, what they are called, what is in them, and how a slot is moved."""
