"""Hyper-parameters for several labels a sample, chosen on class folds."""
