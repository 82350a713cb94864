"""Feature learning: networks that turn images into the features the projections read."""
