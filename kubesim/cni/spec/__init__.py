"""The CNI specification: results, versions, valid names, and the plugin skeleton."""
