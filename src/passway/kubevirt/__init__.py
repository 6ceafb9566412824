"""What KubeVirt itself would do, as pure functions: gates, the permitted list, the launcher pod."""
