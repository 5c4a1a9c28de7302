"""What pages ask of the platform, apart from how they draw it: functions that wait, and give frozen values."""
