"""One module per corpus: decodes a case, calls the production function, encodes its result."""
