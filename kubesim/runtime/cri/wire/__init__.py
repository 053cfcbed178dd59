"""The messages of CRI v1 (`cri.proto`, from which `cri_pb2` is generated), and their transports."""
