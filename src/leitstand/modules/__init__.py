"""Modules: programs of other machines that Leitstand knows, and the credentials they show."""

from leitstand.modules.credential import Credential, CredentialInfo
from leitstand.modules.credential_ledger import AuthenticationError, CredentialLedger
from leitstand.modules.module import Module
from leitstand.modules.module_ledger import ModuleLedger

__all__ = [
    "AuthenticationError",
    "Credential",
    "CredentialInfo",
    "CredentialLedger",
    "Module",
    "ModuleLedger",
]
