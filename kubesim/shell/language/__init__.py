"""The language of the shell: tokens, syntax tree, patterns, arithmetic, expansion. All pure."""
