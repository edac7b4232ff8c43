"""Where processes of the tests are forked from: one that has imported everything already."""

import multiprocessing

NURSERY = multiprocessing.get_context("forkserver")
NURSERY.set_forkserver_preload(
    ["tests.jobs.server_process", "tests.agents.agent_process", "tests.console"]
)
