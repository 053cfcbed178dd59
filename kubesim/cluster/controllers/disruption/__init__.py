"""The disruption controller: the allowed disruptions of each PodDisruptionBudget."""
