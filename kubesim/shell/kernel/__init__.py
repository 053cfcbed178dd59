"""The operating system under the shell: processes, signals, files, streams, ports."""
