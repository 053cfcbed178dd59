"""The device manager: device plugins, their devices, and which container has which."""
