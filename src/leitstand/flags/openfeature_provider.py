"""An OpenFeature provider over the flags of this process, for code that works inside Leitstand.

It needs the package ``openfeature-sdk`` (``leitstand[openfeature]``), which Leitstand itself does
without. Other programs ask over HTTP, by any OFREP provider.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import FlagNotFoundError, ProviderNotReadyError, TypeMismatchError
from openfeature.flag_evaluation import FlagResolutionDetails
from openfeature.provider import AbstractProvider, Metadata

from leitstand.flags.evaluation import Evaluation, Reason
from leitstand.flags.flags import Flags


class LeitstandProvider(AbstractProvider):
    """Boolean flags; the context's targeting key is the tenant.

    The async calls read the database where what is known is too old; the others cannot, and answer
    as was last known.
    """

    def __init__(self, flags: Flags) -> None:
        super().__init__()
        self._flags = flags

    def get_metadata(self) -> Metadata:
        """The provider's name."""
        return Metadata("leitstand")

    def resolve_boolean_details(
        self,
        flag_key: str,
        default_value: bool,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[bool]:
        """Answer without any I/O."""
        return _details(self._flags.last_known(flag_key, _tenant(evaluation_context)))

    async def resolve_boolean_details_async(
        self,
        flag_key: str,
        default_value: bool,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[bool]:
        """Answer as ``Flags.evaluate`` does."""
        return _details(await self._flags.evaluate(flag_key, _tenant(evaluation_context)))

    def resolve_string_details(
        self,
        flag_key: str,
        default_value: str,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[str]:
        """Raise TypeMismatchError: flags are true or false."""
        _refuse(flag_key)

    def resolve_integer_details(
        self,
        flag_key: str,
        default_value: int,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[int]:
        """Raise TypeMismatchError: flags are true or false."""
        _refuse(flag_key)

    def resolve_float_details(
        self,
        flag_key: str,
        default_value: float,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[float]:
        """Raise TypeMismatchError: flags are true or false."""
        _refuse(flag_key)

    def resolve_object_details(
        self,
        flag_key: str,
        default_value: Sequence[Any] | Mapping[str, Any],
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[Any]:
        """Raise TypeMismatchError: flags are true or false."""
        _refuse(flag_key)


def _refuse(key: str) -> NoReturn:
    raise TypeMismatchError(f"{key} is true or false")


def _tenant(context: EvaluationContext | None) -> str | None:
    return context.targeting_key or None if context is not None else None


def _details(evaluation: Evaluation) -> FlagResolutionDetails[bool]:
    if evaluation.reason is Reason.UNKNOWN:
        raise FlagNotFoundError(f"there is no flag {evaluation.key}")
    if evaluation.reason is Reason.ERROR:
        raise ProviderNotReadyError("the flags cannot be read at the moment")
    return FlagResolutionDetails(
        value=evaluation.value,
        variant="on" if evaluation.value else "off",
        reason=evaluation.reason.value,
        flag_metadata={"stale": evaluation.stale},
    )
