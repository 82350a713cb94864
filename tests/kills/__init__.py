"""Commands killed at random moments: what they leave, and what the next one makes of it."""
