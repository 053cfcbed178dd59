"""The contract of `Runtime` as tests: every runtime, bundled or third-party, passes them."""

from kubesim.testing.runtime_contract.contract import RuntimeContract
from kubesim.testing.runtime_contract.subject import Subject

__all__ = ["RuntimeContract", "Subject"]
