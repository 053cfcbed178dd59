"""One module per corpus: decodes a case, calls the production code, encodes the result."""
