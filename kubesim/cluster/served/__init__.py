"""The API over HTTP: routes, requests, lists, watch streams, discovery."""
