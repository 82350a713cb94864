"""Feature learning: networks that turn pictures into the features the projections read."""
