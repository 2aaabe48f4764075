"""How much a pipeline needs: a measured model of what work costs, and a plan from it. Plain values alone."""
