"""Servers for tests: started once, on a socket in a temporary folder, and stopped at the end."""

import contextlib
import glob
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import pytest


def needed(what, there):
    """Skip where something is not installed; fail where continuous integration should have installed it."""
    if there:
        return
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what} is not installed")
    pytest.skip(f"{what} is not installed")


def postgres_programs():
    """The folder of initdb and postgres, which Debian keeps off the path."""
    found = shutil.which("initdb")
    folders = [os.path.dirname(found)] if found else sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    return next((folder for folder in reversed(folders) if os.path.exists(f"{folder}/postgres")), None)


@contextlib.contextmanager
def postgres_server():
    """Connection parameters of a PostgreSQL server; it refuses to run as root, so root lends it to another user.

    Its log is the file ``log`` in the folder that ``host`` names.
    """
    programs = postgres_programs()
    needed("PostgreSQL", programs)
    folder = tempfile.mkdtemp(prefix="tb-pg-")
    user, as_user = pwd.getpwuid(os.getuid()).pw_name, {}
    if os.getuid() == 0:
        names = {entry.pw_name for entry in pwd.getpwall()}
        user = "postgres" if "postgres" in names else "nobody"
        as_user = {"user": user}
        shutil.chown(folder, user)
    data = os.path.join(folder, "data")
    log = open(os.path.join(folder, "log"), "wb")  # noqa: SIM115 - the server writes to it until it ends
    quiet = {"stdout": log, "stderr": log, "cwd": folder}
    make = ["initdb", "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"]
    subprocess.run([f"{programs}/{make[0]}", *make[1:]], check=True, **quiet, **as_user)
    run = ["-D", data, "-k", folder, "-h", "", "-F", "-c", "max_wal_size=64MB"]
    server = subprocess.Popen([f"{programs}/postgres", *run], **quiet, **as_user)
    try:
        for _ in range(3000):
            if os.path.exists(os.path.join(folder, ".s.PGSQL.5432")) or server.poll() is not None:
                break
            time.sleep(0.1)
        yield {"host": folder, "user": "tester", "dbname": "postgres"}
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        log.close()
        shutil.rmtree(folder, ignore_errors=True)


JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"  # for programs that soon end


def free_port():
    """A port that nobody listens on, or did not a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@contextlib.contextmanager
def spark_session():
    """A Spark session on a cluster of two workers on this machine, each a process of its own."""
    # The workers must have the libraries of this interpreter.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.codegen.wholeStage": "false",  # to compile takes longer than to count a few rows
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.driver.extraJavaOptions": JAVA,
        "spark.executor.extraJavaOptions": JAVA,
        "spark.driver.memory": "1g",
        "spark.executor.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.log.level": "ERROR",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(sys.path),
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",  # lets clients in
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(free_port()),
    }
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    folder = tempfile.mkdtemp(prefix="tb-spark-")
    session = builder.config("spark.local.dir", folder).config("spark.sql.warehouse.dir", folder).getOrCreate()
    try:
        yield session
    finally:
        session.stop()
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def dask_cluster():
    """A client of a Dask cluster of two workers on this machine, each a process of its own."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", worker_dashboard_address=":0", silence_logs=50
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client
