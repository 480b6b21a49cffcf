"""Settings of the whole suite."""

import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from tests.servers import dask_cluster, needed, postgres_server, spark_session

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

# Modules that cannot be imported without an extra, and a package of it. All others must be importable wherever the
# suite runs, so that a mistake in an import is an error and not a doctest less.
OF_EXTRAS = {("tallybayes", "spark.py"): "pyspark", ("tallybayes", "serve", "app.py"): "fastapi"}


class Doctests:
    """Leaves out the doctests of modules whose extra is not installed."""

    @staticmethod
    def pytest_ignore_collect(collection_path: Path) -> bool | None:
        package = next((p for parts, p in OF_EXTRAS.items() if collection_path.parts[-len(parts) :] == parts), None)
        return None if package is None or find_spec(package) else True


def pytest_configure(config):
    config.pluginmanager.register(Doctests())  # hooks of this file itself are asked about tests/ only


@pytest.fixture(scope="session")
def postgres():
    """Connection parameters of a PostgreSQL server."""
    needed("psycopg", find_spec("psycopg"))
    with postgres_server() as parameters:
        yield parameters


@pytest.fixture(scope="session")
def spark():
    """A Spark session with two worker processes of its own."""
    needed("pyspark", find_spec("pyspark"))
    needed("Java", shutil.which("java"))
    with spark_session() as session:
        yield session


@pytest.fixture(scope="session")
def dask_client():
    """A Dask scheduler with two worker processes of its own."""
    needed("dask", find_spec("dask") and find_spec("distributed"))
    with dask_cluster() as client:
        yield client
