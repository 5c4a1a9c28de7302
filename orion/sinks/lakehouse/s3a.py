"""Spark's way to s3a:// paths, opened in a session that runs already.

Spark is started without the jars of S3A: they are fetched when the first path needs them. Spark's own class loader of
jars takes more of them at any time, and Hadoop's configuration looks for file systems there. Executors of this process
look there too; those of a cluster are sent the jars besides.

Keys and addresses are Hadoop's settings of one bucket (fs.s3a.bucket.NAME.*), so that connectors of several buckets
don't mix. Connectors of the same bucket share what the last of them said.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from orion.hub import jars
from orion.sinks.objects.place import Bucket

SCHEMES = ("s3a://", "s3://", "s3n://")
_STATIC = "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider"
_TEMPORARY = "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider"


def is_s3(path: str) -> bool:
    return path.startswith(SCHEMES)


def parts(path: str) -> tuple[str, str]:
    """The bucket of a path, and the place in it."""
    bucket, _, key = path.split("://", 1)[1].partition("/")
    return bucket, key.strip("/")


def reach(session: SparkSession, bucket: Bucket) -> None:
    """From here on the session reads and writes s3a:// paths of this bucket."""
    _join(session, jars.ensure("s3a"))
    _configure(session, bucket)


def _join(session: SparkSession, packages: list[Path]) -> None:
    context, jvm = _context(session), _jvm(session)
    loader = context.hadoopConfiguration().getClassLoader()
    there = {url.toString() for url in loader.getURLs()}
    for package in packages:
        url = jvm.java.net.URI(package.as_uri()).toURL()
        if url.toString() in there:
            continue
        loader.addURL(url)
        if not context.isLocal():
            context.sc().addJar(str(package))


def _configure(session: SparkSession, bucket: Bucket) -> None:
    """Set what is new of a bucket. A file system that Hadoop keeps has the settings it was born with."""
    hadoop, jvm = _context(session).hadoopConfiguration(), _jvm(session)
    wanted = {f"fs.s3a.bucket.{bucket.name}.{name}": value for name, value in _settings(bucket).items()}
    changed = {name: value for name, value in wanted.items() if hadoop.get(name) != value}
    if not changed:
        return
    is_known = any(hadoop.get(name) is not None for name in wanted)
    if is_known:
        kept = jvm.org.apache.hadoop.fs.FileSystem.get(jvm.java.net.URI(f"s3a://{bucket.name}/"), hadoop)
        kept.close()
    for name, value in changed.items():
        hadoop.set(name, value)


def _settings(bucket: Bucket) -> dict[str, str]:
    settings = {
        # Who asks is told within seconds that nobody answers; trying again is the supervisor's part.
        "attempts.maximum": "3",
        "retry.limit": "3",
        "connection.establish.timeout": "5s",
    }
    if bucket.url:
        settings |= {"endpoint": bucket.url, "path.style.access": str(not bucket.virtual).lower()}
    if bucket.region or bucket.url:
        settings["endpoint.region"] = bucket.region or "us-east-1"
    if bucket.login:
        login = bucket.login
        settings |= {"access.key": login.key, "secret.key": login.secret.get_secret_value()}
        settings["aws.credentials.provider"] = _TEMPORARY if login.token else _STATIC
        if login.token:
            settings["session.token"] = login.token.get_secret_value()
    return settings


def _context(session: SparkSession) -> Any:
    return session.sparkContext._jsc


def _jvm(session: SparkSession) -> Any:
    return session.sparkContext._jvm
