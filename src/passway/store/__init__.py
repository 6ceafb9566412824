"""The audit's database: SQLite beside the service, or PostgreSQL for several replicas."""
