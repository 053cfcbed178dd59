"""The shadow of a kubelet: predicts its actions from observations, and reports divergences."""
