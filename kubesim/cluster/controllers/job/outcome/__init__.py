"""What follows from the pods of a Job: indexes, failures and their delays, policies, the end of the Job. All pure."""
