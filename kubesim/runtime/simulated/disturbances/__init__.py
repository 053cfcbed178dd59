"""What disturbs containers from outside: stopped processes, and dependencies that are slow or down."""
