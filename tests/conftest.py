"""Settings of the whole suite."""

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from tests.servers import dask_cluster, needed, postgres_server, spark_session

# Processes that share the processors of the machine take one thread each where NumPy and scikit-learn would take all.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The same examples on every run: a red test stays red until it is mended. For more of them, and others each time:
# pytest tests/laws --hypothesis-profile thorough
PHASES = (Phase.explicit, Phase.generate, Phase.target, Phase.shrink)
settings.register_profile("tallybayes", derandomize=True, database=None, deadline=None, max_examples=15, phases=PHASES)
settings.register_profile("thorough", database=None, deadline=None, max_examples=200, phases=PHASES)
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


# Tests of a server, by words of their names: all in one process, so that the server is started once. Longest first.
SERVERS = {
    "spark": ("test_spark.py", "[spark", "-spark]", "of_spark"),
    "dask": ("[dask", "-dask]", "of_dask"),
    "postgres": ("[postgres", "-postgres]", "test_sql.py", "test_engine_failures.py"),
}


def group_of(nodeid):
    """What a test runs in one process with: all tests of its server, or of its file."""
    return next((name for name, words in SERVERS.items() if any(w in nodeid for w in words)), nodeid.split("::")[0])


def pytest_collection_modifyitems(items):
    """What takes long is begun first, or one process would be at it when the others have finished."""
    order = list(SERVERS)
    items.sort(key=lambda item: order.index(group) if (group := group_of(item.nodeid)) in order else len(order))


@pytest.hookimpl(optionalhook=True)  # without pytest-xdist nobody asks
def pytest_xdist_auto_num_workers(config):
    """One process more than there are processors, since those that have servers often wait for them."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Processes take groups of tests in the order of collection."""
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return group_of(nodeid)

    if config.getvalue("dist") != "loadfile":
        return None
    config.option.loadscopereorder = False
    return Groups(config, log)


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
