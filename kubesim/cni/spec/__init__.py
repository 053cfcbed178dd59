"""The data of the CNI specification: results, versions, valid names, and the skeleton of a plugin."""
