"""Node.js and a browser for the tests of what kubesim draws."""
