"""The steps between a request and the store: admission, defaults, validation, update rules, deletion."""
