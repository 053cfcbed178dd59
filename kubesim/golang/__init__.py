"""Go's formats for JSON, YAML, durations, text and addresses: parsers and printers that know nothing about
Kubernetes."""
