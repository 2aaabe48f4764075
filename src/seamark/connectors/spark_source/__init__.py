"""SparkSource: what Spark reads, as a source connector; one module per outside system."""
