"""Local files of Spark's are written by its own JVM."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession


def test_files_are_made_without_other_processes_and_have_their_checksums(spark: SparkSession, tmp_path: Path) -> None:
    jvm: Any = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(str(tmp_path / "file"))
    files = path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())
    assert files.getClass().getSimpleName() == "BareLocalFileSystem"
    files.create(path, True).close()
    assert (tmp_path / ".file.crc").exists()
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o644
    # What other parts of Hadoop take for granted, s3a among them.
    assert jvm.org.apache.hadoop.fs.FileSystem.getLocal(spark.sparkContext._jsc.hadoopConfiguration()) is not None
