"""Recognition of several labels a sample, by its regions."""
