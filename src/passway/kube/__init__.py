"""Kubernetes as an adapter: what satisfies `service.ports.Cluster`, and what that needs."""
