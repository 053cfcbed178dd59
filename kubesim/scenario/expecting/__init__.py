"""Pure evaluation of expectations: questions about objects and occurrences, and when they must hold."""
