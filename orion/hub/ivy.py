"""Fetches jars by exact coordinates with Apache Ivy, which PySpark ships.

Ivy runs with its default settings, as a child process, one artifact a coordinate and nothing those depend on. It keeps
what it has fetched in its own cache until the caller drops it, so a fetch that was cut short goes on.
"""

from __future__ import annotations

import hashlib
import os
import re
import select
import shutil
import ssl
import struct
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies
from xml.sax.saxutils import quoteattr

from orion.errors import ConfigError, ExternalError
from orion.hub.java import Java, find_for_downloads
from orion.hub.leash import leashed

Progress = Callable[[str], None]

SILENCE = 120.0  # seconds without a word from Ivy after which the network counts as gone
TRIES = 2  # a repository that is busy for a moment is common, and what has arrived isn't fetched again
EXTRA = "http://ant.apache.org/ivy/extra"  # the name space of what Ivy itself doesn't know, such as classifiers
HINT = "Check the network and run it again: what has arrived is kept."
CERTIFICATES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")


@dataclass(frozen=True, slots=True)
class Jar:
    """One line of the pinned list; an archive has a type and a classifier of its own."""

    group: str
    artifact: str
    version: str
    sha256: str
    size: int
    type: str = "jar"
    classifier: str = ""

    @property
    def name(self) -> str:
        return f"{self.artifact}-{self.version}{self.classifier and '-' + self.classifier}.{self.type}"


def fetch(jars: Sequence[Jar], staging: Path, ivy_jar: Path, progress: Progress) -> None:
    """Put the jars into the staging folder under their own names. They are unchecked: that is the caller's part."""
    staging.mkdir(parents=True, exist_ok=True)
    module = staging / "ivy.xml"
    module.write_text(_module(jars), encoding="utf-8")
    java = find_for_downloads()
    command = [
        str(java.executable),
        *_network_options(java, staging),
        *("-jar", str(ivy_jar)),
        *("-cache", str(_cache(staging))),
        *("-ivy", str(module)),
        *("-confs", "default"),
        *("-retrieve", str(staging / "[artifact]-[revision](-[classifier]).[ext]")),
    ]
    cause: str | None = None
    for attempt in range(TRIES):
        if attempt:
            progress(f"  trying again: {cause}")
        cause = _run(command, len(jars), progress)
        if cause is None:
            return
    raise ExternalError("JARS_UNREACHABLE", f"The jars can't be fetched: {cause}.", hint=HINT, retry_after=60)


def forget(jar: Jar, staging: Path) -> None:
    """Drop what Ivy keeps of a jar, so that it is really fetched again."""
    shutil.rmtree(_cache(staging) / jar.group / jar.artifact, ignore_errors=True)


def _cache(staging: Path) -> Path:
    return staging / "ivy-cache"


def _module(jars: Sequence[Jar]) -> str:
    """Ivy's description of what is wanted."""
    wanted = "\n".join(
        f"<dependency org={quoteattr(jar.group)} name={quoteattr(jar.artifact)} rev={quoteattr(jar.version)}"
        f' conf="default->master,default" transitive="false">{_artifact(jar)}</dependency>'
        for jar in jars
    )
    return (
        f'<ivy-module version="2.0" xmlns:e="{EXTRA}">\n<info organisation="orion" module="jars"/>\n'
        '<configurations><conf name="default"/></configurations>\n'
        f"<dependencies>\n{wanted}\n</dependencies>\n</ivy-module>\n"
    )


def _artifact(jar: Jar) -> str:
    """Which of a module's artifacts is wanted, where it isn't the jar."""
    if jar.type == "jar" and not jar.classifier:
        return ""
    form = f"type={quoteattr(jar.type)} ext={quoteattr(jar.type)} e:classifier={quoteattr(jar.classifier)}"
    return f"<artifact name={quoteattr(jar.artifact)} {form}/>"


def _run(command: list[str], total: int, progress: Progress) -> str | None:
    """Run Ivy, report what arrives, and return the first cause when it fails.

    It runs on a leash: an Ivy that outlives this process would write into the cache of the next one. Leaving the block
    closes the leash's pipe, which ends an Ivy that is still there.
    """
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(leashed(0, command), stdin=pipe, stdout=nowhere, stderr=pipe) as ivy:
        lines: list[str] = []
        arrived = 0
        try:
            for line in _lines(ivy):
                lines.append(line)
                done = re.search(r"\[SUCCESSFUL \] \S+!(\S+)\.(?:jar|tar\.gz)", line)
                if done:
                    arrived += 1
                    progress(f"  {arrived}/{total} {done.group(1)}")
        except TimeoutError:
            return f"nothing arrived for {SILENCE:.0f} s"
        return None if ivy.wait() == 0 else _cause(lines)


def _lines(ivy: subprocess.Popen[bytes]) -> Iterator[str]:
    """Ivy's output by line; TimeoutError when it falls silent. Its progress dots count as being alive."""
    assert ivy.stderr is not None
    rest = b""
    while True:
        ready, _, _ = select.select([ivy.stderr], [], [], SILENCE)
        if not ready:
            raise TimeoutError
        chunk = os.read(ivy.stderr.fileno(), 65536)
        if not chunk:
            break
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (line.decode(errors="replace") for line in whole)
    if rest:
        yield rest.decode(errors="replace")


def _cause(lines: list[str]) -> str:
    """The first line that says why: a network error before a missing artifact before whatever came last."""
    for pattern in (r"Server access error.*\((?:[\w.]+\.)?(.+)\)", r"(\[FAILED\s+\].+)", r":: (\S+: not found)"):
        for line in lines:
            found = re.search(pattern, line)
            if found:
                return found.group(1).strip()
    said = [line.strip() for line in lines if line.strip()]
    return said[-1] if said else "Ivy ended without a word"


def _network_options(java: Java, staging: Path) -> list[str]:
    """Java knows neither the environment's proxy nor, when bundled, the machine's certificates: hand them over."""
    options = []
    for scheme in ("http", "https"):
        proxy = urlsplit(getproxies().get(scheme, ""))
        if proxy.hostname:
            options += [f"-D{scheme}.proxyHost={proxy.hostname}", f"-D{scheme}.proxyPort={proxy.port or 80}"]
    if java.bundled:
        trusted = _machine_certificates()
        if trusted:
            store = staging / "certificates.jks"
            store.write_bytes(key_store(trusted))
            options.append(f"-Djavax.net.ssl.trustStore={store}")
    return options


def _machine_certificates() -> list[bytes]:
    """The certificates this machine trusts, each as DER."""
    paths = ssl.get_default_verify_paths()
    places = [os.environ.get("SSL_CERT_FILE"), *CERTIFICATES, paths.cafile, paths.openssl_cafile]
    for place in places:
        if place and Path(place).is_file():
            text = Path(place).read_text(encoding="ascii", errors="ignore")
            blocks = re.findall(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", text, re.DOTALL)
            return [ssl.PEM_cert_to_DER_cert(block) for block in blocks]
    return []


def key_store(certificates: Sequence[bytes]) -> bytes:
    """A JKS file that trusts the given certificates: Java reads no PEM, and its keytool takes one certificate a start.

    The layout: magic, version, count; an entry each (kind, alias, time, type, DER); a salted digest of all of it.
    """

    def text(value: str) -> bytes:
        return struct.pack(">H", len(value)) + value.encode("ascii")

    body = struct.pack(">III", 0xFEEDFEED, 2, len(certificates))
    for number, der in enumerate(certificates):
        body += struct.pack(">I", 2) + text(str(number)) + struct.pack(">Q", 0)
        body += text("X.509") + struct.pack(">I", len(der)) + der
    password = "changeit".encode("utf-16-be")
    return body + hashlib.sha1(password + b"Mighty Aphrodite" + body).digest()


def ivy_in(pyspark_jars: Path) -> Path:
    """The Ivy that PySpark ships."""
    found = sorted(pyspark_jars.glob("ivy-*.jar"))
    if not found:
        raise ConfigError("PYSPARK_JAR_MISSING", f"{pyspark_jars} has no ivy-*.jar.", hint="Install PySpark again.")
    return found[-1]
