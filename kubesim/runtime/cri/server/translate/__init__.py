"""Messages of CRI as the values of the simulated runtime, and back. Only the message is read. All pure."""
