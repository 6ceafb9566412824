"""A real Kubernetes control plane and a real KubeVirt beside it, for the tests and for people.

`python -m tests.controlplane up` starts one by hand. Nothing here is shipped.
"""
