"""Modules: programs of other machines that Leitstand knows, and the credentials they show."""

from leitstand.modules.activation import Activation, InactiveModuleError
from leitstand.modules.credential import Credential, CredentialInfo
from leitstand.modules.credential_ledger import AuthenticationError, CredentialLedger
from leitstand.modules.metric_names import AmbiguousModuleError
from leitstand.modules.metrics_url import MetricsUrlError
from leitstand.modules.module import Module
from leitstand.modules.module_ledger import ModuleLedger

__all__ = [
    "Activation",
    "AmbiguousModuleError",
    "AuthenticationError",
    "Credential",
    "CredentialInfo",
    "CredentialLedger",
    "InactiveModuleError",
    "MetricsUrlError",
    "Module",
    "ModuleLedger",
]
