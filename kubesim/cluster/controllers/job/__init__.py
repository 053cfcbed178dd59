"""The Job controller, and the one that deletes finished Jobs after their time to live."""
