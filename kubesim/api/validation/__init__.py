"""Pod validation with the API's own messages and field paths, in the API's order.

`pod.validate_pod_create` is the entry point; each other module validates one part.
"""

from kubesim.api.validation.field import Errors, FieldError
from kubesim.api.validation.options import PodValidationOptions
from kubesim.api.validation.pod import validate_pod_create

__all__ = ["Errors", "FieldError", "PodValidationOptions", "validate_pod_create"]
