"""One reader per data set or layout; `zerokin.load_dataset` is the door to all of them."""
