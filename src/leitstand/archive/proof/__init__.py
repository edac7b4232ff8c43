"""The chain of evidence: one report that says of everything that is kept whether it is proven."""
