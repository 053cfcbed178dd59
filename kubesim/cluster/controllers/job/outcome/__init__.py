"""What the pods of a Job come to: indexes, failures and their delays, policies, the end of the Job. All pure."""
