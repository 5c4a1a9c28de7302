"""Settings: what beats what, and how a wrong one is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from orion.config import Config, cache_folder, load
from orion.errors import ConfigError


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No orion.yaml of a developer is in the way."""
    monkeypatch.chdir(tmp_path)


def written(text: str, name: str = "orion.yaml") -> Path:
    file = Path(name)
    file.write_text(text, encoding="utf-8")
    return file


def refused(path: Path | None = None, flags: dict[str, Any] | None = None) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load(path, flags)
    return caught.value


def test_without_a_file_the_defaults_run_everything_here() -> None:
    config = load()
    assert config.service_id == "orion"
    assert config.data == Path(".orion")
    assert config.hub.bootstrap is None
    assert config.engine.master == "local[*]"
    assert (config.web.host, config.web.port) == ("127.0.0.1", 8088)


def test_every_setting_has_a_default_and_words() -> None:
    def leaves(model: type[BaseModel]) -> None:
        for name, field in model.model_fields.items():
            assert not field.is_required(), name
            if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
                leaves(field.annotation)
            else:
                assert field.description, name

    leaves(Config)


def test_the_file_here_is_read_and_keeps_other_defaults() -> None:
    written("hub: {port: 9092}\nengine:\n  conf: {spark.ui.enabled: 'true'}\n")
    config = load()
    assert config.hub.port == 9092
    assert config.hub.heap == "512m"
    assert config.engine.conf == {"spark.ui.enabled": "true"}


def test_a_file_that_is_named_is_read_instead() -> None:
    written("service_id: here")
    assert load(written("service_id: there", "other.yaml")).service_id == "there"


@pytest.mark.parametrize("text", ["", "# only a comment", "hub:\nengine:\n"])
def test_a_file_that_says_nothing_changes_nothing(text: str) -> None:
    written(text)
    assert load() == Config()


def test_the_environment_beats_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    written("hub: {port: 1, heap: 1g}\nservice_id: file")
    monkeypatch.setenv("ORION_HUB__PORT", "2")
    monkeypatch.setenv("ORION_SERVICE_ID", "environment")
    config = load()
    assert (config.hub.port, config.hub.heap, config.service_id) == (2, "1g", "environment")


def test_flags_beat_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    written("hub: {port: 1}")
    monkeypatch.setenv("ORION_HUB__PORT", "2")
    monkeypatch.setenv("ORION_WEB__PORT", "3")
    config = load(flags={"hub.port": 4, "data": Path("/data"), "web.host": None})
    assert (config.hub.port, config.web.port, config.data, config.web.host) == (4, 3, Path("/data"), "127.0.0.1")


def test_variables_that_are_no_settings_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORION_CACHE", "/cache")
    monkeypatch.setenv("ORION_TRACEBACK", "1")
    assert load() == Config()


def test_a_loaded_value_is_frozen() -> None:
    config = load()
    with pytest.raises(ValidationError):
        config.hub.port = 1
    with pytest.raises(ValidationError):
        config.service_id = "x"


def test_an_unknown_key_is_refused_with_the_nearest_one() -> None:
    written("hub: {prot: 1}")
    error = refused()
    assert error.code == "CONFIG_UNKNOWN_KEY"
    assert error.message == "There is no setting hub.prot."
    assert error.hint == "Did you mean port?"


def test_an_unknown_section_is_refused_with_the_known_ones() -> None:
    written("lake: {}")
    assert (
        refused().hint
        == "Known here: service_id, data, hub, engine, web, registry, serving, postgres, secrets, functions."
    )


def test_an_unknown_variable_or_flag_is_refused_too(monkeypatch: pytest.MonkeyPatch) -> None:
    assert refused(flags={"web.prt": 1}).message == "There is no setting web.prt."
    monkeypatch.setenv("ORION_ENGINE__MASTR", "local")
    assert refused().hint == "Did you mean master?"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hub: {partitions: 0}", "Setting hub.partitions: Input should be greater than or equal to 1."),
        ("hub: {brokers: 2}", "Setting hub.brokers: Input should be 1 or 3."),
        ("hub: 3", "Setting hub: Input should be a valid dictionary or instance of Hub."),
        ("service_id: Not Good", "Setting service_id: String should match pattern '^[a-z0-9_-]+$'."),
    ],
)
def test_a_wrong_value_is_refused_with_its_path(text: str, message: str) -> None:
    written(text)
    error = refused()
    assert error.code == "CONFIG_INVALID"
    assert error.message == message


def test_a_wrong_value_is_told_where_it_may_come_from() -> None:
    file = written("web: {port: many}")
    assert refused().hint == f"Fix it in {file} or in the environment variable ORION_WEB__PORT."


def test_a_section_as_a_variable_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORION_HUB", "localhost:9092")
    error = refused()
    assert error.code == "CONFIG_INVALID"
    assert error.hint == "A section is given as ORION_SECTION__KEY, a variable for each key."


def test_a_file_that_is_not_there_is_refused() -> None:
    error = refused(Path("missing.yaml"))
    assert error.code == "CONFIG_FILE_MISSING"
    assert error.message == "There is no file missing.yaml."


@pytest.mark.parametrize("data", [b"hub: [", b"\xff\xfe\x00", b"a: b: c"])
def test_a_file_that_is_not_yaml_is_refused(data: bytes) -> None:
    Path("orion.yaml").write_bytes(data)
    assert refused().code == "CONFIG_NOT_YAML"


@pytest.mark.parametrize("text", ["[]", "- hub", "just words", "1: 2", "0"])
def test_a_file_that_is_no_mapping_is_refused(text: str) -> None:
    written(text)
    assert refused().code == "CONFIG_NOT_A_MAPPING"


def test_downloads_are_cached_for_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ORION_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert cache_folder() == Path("/xdg/orion")
    monkeypatch.setenv("ORION_CACHE", "/mine")
    assert cache_folder() == Path("/mine")
    monkeypatch.delenv("ORION_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "orion"


def test_functions_are_a_section_or_a_list_of_modules() -> None:
    assert load().functions.python is False  # whoever reaches the server could run code on it
    written("functions: [my_module]")
    assert load().functions.modules == ("my_module",)
    written("functions: {modules: [a, b.c], python: true}")
    assert (load().functions.modules, load().functions.python) == (("a", "b.c"), True)
