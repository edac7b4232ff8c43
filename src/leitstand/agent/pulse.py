"""Carries an agent's heartbeats to the control servers, over connections of their own."""

from collections.abc import Callable, Sequence

from leitstand.agent.client import RefusedError, ServerClient
from leitstand.agent.configuration import AgentConfiguration
from leitstand.agent_protocol import Claim, Vouch, Vouched
from leitstand.errors import LeitstandError, UnavailableError
from leitstand.execution import BEAT_DEADLINE, Beat, Lease


class HttpPulse:
    """The pulse of one instance; ``on_refused`` is told when the credential is no longer valid."""

    def __init__(
        self,
        configuration: AgentConfiguration,
        instance: str,
        on_refused: Callable[[RefusedError], object],
    ) -> None:
        self._configuration = configuration
        self._instance = instance
        self._on_refused = on_refused
        self._client: ServerClient | None = None

    async def beat(self, leases: Sequence[Lease]) -> Beat:
        """See Pulse."""
        if self._client is None:
            self._client = ServerClient(self._configuration)
        try:
            vouched = await vouch(self._client, self._instance, leases, self._patience)
        except RefusedError as error:
            self._on_refused(error)
            raise UnavailableError(error.message) from error
        return Beat(vouched.registered, False, vouched.held, vouched.beaten, vouched.cancelled)

    @property
    def _patience(self) -> float:
        """Seconds for each server, so that the last of them is asked in time, too."""
        return 0.9 * BEAT_DEADLINE / len(self._configuration.servers)

    async def disconnect(self) -> None:
        """See Pulse."""
        if self._client is not None:
            await self._client.close()
            self._client = None


async def vouch(
    client: ServerClient, instance: str, leases: Sequence[Lease], deadline: float
) -> Vouched:
    """One heartbeat; an error that is no matter of patience counts as none, too."""
    claims = tuple(Claim.of(lease) for lease in leases)
    try:
        return await client.ask(
            "heartbeat", Vouch(instance=instance, claims=claims), Vouched, deadline
        )
    except (RefusedError, UnavailableError):
        raise
    except LeitstandError as error:
        raise UnavailableError(error.message) from error
