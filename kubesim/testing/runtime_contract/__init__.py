"""The contract of `Runtime` as tests, which every bundled or third-party runtime must pass."""

from kubesim.testing.runtime_contract.contract import RuntimeContract
from kubesim.testing.runtime_contract.subject import Subject

__all__ = ["RuntimeContract", "Subject"]
