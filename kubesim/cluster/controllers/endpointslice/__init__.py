"""The EndpointSlice controller: the addresses of the pods behind each Service."""
