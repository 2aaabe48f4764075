"""Topics into tables and files of any format that Spark writes; `connector` is the entry, one module per system."""
