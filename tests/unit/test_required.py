"""A test that lacks something is skipped on a user's machine, and fails on the build server."""

from __future__ import annotations

import pytest

from tests.required import refuse


def test_a_users_machine_skips(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no such thing"):
        refuse("no such thing")


def test_the_build_server_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no such thing"):
        refuse("no such thing")
