"""Settings of the whole suite."""

from importlib.util import find_spec

import pytest
from hypothesis import Phase, settings

from tests.servers import needed, postgres_server

# The same examples on every run: a red test stays red until it is mended.
settings.register_profile(
    "tallybayes",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=25,
    phases=(Phase.explicit, Phase.generate, Phase.target, Phase.shrink),
)
settings.load_profile("tallybayes")


@pytest.fixture(scope="session")
def postgres():
    """Connection parameters of a PostgreSQL server."""
    needed("psycopg", find_spec("psycopg"))
    with postgres_server() as parameters:
        yield parameters
