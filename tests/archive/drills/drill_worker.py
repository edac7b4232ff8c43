"""A process that drills and then waits in a query, to be ended by the test."""

import sys
from pathlib import Path

from leitstand.archive.drills.copy_check import ExpectedAnswer
from leitstand.archive.drills.database_drill import DatabaseDrill, run_database_drill
from leitstand.execution import interruptible
from leitstand.store.account import server_account
from leitstand.store.reachable import reachable_binaries

if __name__ == "__main__":
    account = server_account()
    plan = DatabaseDrill(
        generation=Path(sys.argv[1]),
        upto="full",
        scratch=Path(sys.argv[2]),
        queries=[ExpectedAnswer("postgres", "SELECT pg_sleep(600)", "")],
    )
    with interruptible():
        run_database_drill(
            plan, reachable_binaries(account), account, lambda phase: print(phase, flush=True)
        )
