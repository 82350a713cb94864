"""Choosing hyper-parameters on class folds: validation classes held out of the seen ones."""
