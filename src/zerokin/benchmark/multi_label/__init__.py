"""Several labels a sample, measured: settings, peers and the comparison with them."""
