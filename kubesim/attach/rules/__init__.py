"""One room per stretch of a pod's life: which rule holds it there, what follows and when. All pure."""
