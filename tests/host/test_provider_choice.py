"""Which provider a session gets where its plugin or its address is the trouble."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_plugins import PluginError, ProviderProfile, UsageError, hookimpl
from hermes_plugins.testing._command import Command
from hermes_plugins.testing._host import HostFactory

BAD = "localhost:1/v1"
"""No address: it lacks the http://."""


class Acme:
    """A provider without an address of its own."""

    @hookimpl
    def hermes_register_providers(self) -> list[ProviderProfile]:
        return [
            ProviderProfile(
                id="acme", default_model="m", key_required=False, base_url_env="ACME_BASE_URL"
            )
        ]


class Broken:
    """A provider whose plugin fails while it declares."""

    @hookimpl
    def hermes_register_providers(self) -> list[ProviderProfile]:
        raise RuntimeError("no licence")


@pytest.mark.parametrize(
    ("settings", "variable", "hint"),
    [
        (
            {"providers.acme.base_url": BAD},
            "",
            "Check the address: hermes config set providers.acme.base_url URL (many end in /v1)",
        ),
        ({}, BAD, "Check the address in the variable ACME_BASE_URL (many end in /v1)"),
        (
            {"model.provider": "acme", "model.base_url": BAD},
            "",
            "Check the address: hermes config set model.base_url URL (many end in /v1)",
        ),
    ],
)
async def test_a_bad_address_is_named_with_the_place_where_it_stands(
    hermes: HostFactory,
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, object],
    variable: str,
    hint: str,
) -> None:
    if variable:
        monkeypatch.setenv("ACME_BASE_URL", variable)
    plugins = {("hermes.providers", "acme"): Acme()}
    async with hermes(plugins=plugins, settings=settings, provider="acme", model="m") as host:
        end = (await host.ask("hi")).end
    assert (end.outcome, end.hint) == ("failed", hint)


async def test_a_provider_without_an_address_says_which_setting_gives_it_one(
    hermes: HostFactory,
) -> None:
    plugins = {("hermes.providers", "acme"): Acme()}
    async with hermes(plugins=plugins, provider="acme", model="m") as host:
        with pytest.raises(UsageError, match="acme has no address") as caught:
            await host.session()
    assert "providers.acme.base_url" in caught.value.hint


@pytest.mark.parametrize("wish", [{"provider": "acme"}, {"model": "acme/m"}])
async def test_a_provider_whose_plugin_fails_is_not_replaced_by_one_of_that_name(
    hermes: HostFactory, wish: dict[str, str]
) -> None:
    settings = {"providers.acme.base_url": "http://127.0.0.1:9/v1"}
    plugins = {("hermes.providers", "acme"): Broken()}
    async with hermes(plugins=plugins, settings=settings, **wish) as host:
        with pytest.raises(PluginError, match=r"plugin acme: .*no licence"):
            await host.session()


def put_acme(shelf) -> Path:
    """A provider plugin in the home; returns a module that it imports."""
    module = (
        "import acme_parts\n"
        "from hermes_plugins import ProviderProfile, hookimpl\n\n"
        "@hookimpl\n"
        "def hermes_register_providers():\n"
        "    return [ProviderProfile(id='acme', base_url='localhost:1/v1', key_required=False)]\n"
    )
    points = {"hermes.providers/acme": "hermes_plugin_acme"}
    place = shelf.put("hermes-plugin-acme", points, module=module).parent
    (place / "acme_parts.py").write_text("", encoding="utf-8")
    return place / "acme_parts.py"


def test_a_plugin_that_breaks_after_its_facts_were_kept_ends_the_start(
    shelf, command: Command
) -> None:
    part = put_acme(shelf)
    (command.home / "hermes.yaml").write_text("plugins: {enabled: [acme]}\n", encoding="utf-8")
    first = command.run("-q", "hi", "--model", "acme/m")
    assert "address that cannot be used" in first.err
    part.write_text("raise RuntimeError('no licence')\n", encoding="utf-8")
    second = command.run("-q", "hi", "--model", "acme/m")
    assert second.status == 1
    assert second.err == (
        "hermes: plugin acme: its import failed (RuntimeError: no licence).\n"
        "        `hermes plugins disable acme` goes on without it.\n"
    )


def test_a_provider_that_is_off_says_how_to_switch_it_on(shelf, command: Command) -> None:
    put_acme(shelf)
    ended = command.run("-q", "hi", "--provider", "acme", "-m", "m")
    assert ended.status == 2
    assert "the provider acme is found but off; `hermes plugins enable acme`" in ended.err
