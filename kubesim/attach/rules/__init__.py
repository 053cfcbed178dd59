"""The rules for each stage of a pod's life: why the pod is there, and what happens next and when. All pure."""
