"""Node.js and a browser for tests of kubesim's pictures and pages."""
