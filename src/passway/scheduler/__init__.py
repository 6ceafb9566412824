"""What kube-scheduler would do (default profile, v1.34), as pure functions of values."""
