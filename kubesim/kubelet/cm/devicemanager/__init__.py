"""The device manager: registers device plugins and assigns their devices to containers."""
