"""The shadow of a kubelet: predictions from a stream of observations, and divergences from them."""
