"""Admission by LimitRanges and ResourceQuotas."""
