"""Deletes an alert rule, unless Leitstand needs it for itself."""

from leitstand.app.alert_wiring import own_rules
from leitstand.app.control import Control
from leitstand.protection import refuse_rule_deletion


async def delete_rule(control: Control, name: str) -> str:
    """Delete the rule of that name or id, and what is known of its series; its name.

    Raises ConflictError for a rule that the settings have Leitstand make for itself;
    NotFoundError.
    """
    rules = control.evaluator.rules
    rule = await rules.get(name)
    refuse_rule_deletion(rule.name, own_rules(control.settings))
    return await rules.delete(rule.name)
