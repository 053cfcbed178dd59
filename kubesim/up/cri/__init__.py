"""`kubesim cri serve`: a simulated node without a kubelet, whose runtime any client of CRI drives."""
