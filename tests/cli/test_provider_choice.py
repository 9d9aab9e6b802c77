"""Which provider a session gets where its plugin or its address is the trouble."""

from __future__ import annotations

import pytest

from hermes_plugins import HermesError, PluginError, ProviderProfile, UsageError, hookimpl
from hermes_plugins.testing._host import HostFactory

REFUSED = "http://127.0.0.1:9/v1"
"""Nobody listens on the discard port."""


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


async def hint_of(hermes: HostFactory, plugin: object, **settings: object) -> str:
    """What is said when the server of acme is not reached."""
    plugins = {("hermes.providers", "acme"): plugin}
    async with hermes(plugins=plugins, settings=settings, provider="acme", model="m") as host:
        session = await host.session()
        return session._parts.route.address  # noqa: SLF001


@pytest.mark.parametrize(
    ("settings", "variable", "address"),
    [
        ({"providers.acme.base_url": REFUSED}, "", "providers.acme.base_url"),
        ({}, REFUSED, "ACME_BASE_URL"),
        ({"model.provider": "acme", "model.base_url": REFUSED}, "", "model.base_url"),
    ],
)
async def test_the_hint_names_where_the_address_stands(
    hermes: HostFactory,
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, object],
    variable: str,
    address: str,
) -> None:
    if variable:
        monkeypatch.setenv("ACME_BASE_URL", variable)
    plugins = {("hermes.providers", "acme"): Acme()}
    async with hermes(plugins=plugins, settings=settings, provider="acme", model="m") as host:
        route = await host.runtime.router_for_tests()
    assert route.address == address


@pytest.mark.parametrize("wish", [{"provider": "acme"}, {"model": "acme/m"}])
async def test_a_provider_whose_plugin_fails_is_not_replaced_by_one_of_that_name(
    hermes: HostFactory, wish: dict[str, str]
) -> None:
    settings = {"providers.acme.base_url": REFUSED}
    plugins = {("hermes.providers", "acme"): Broken()}
    async with hermes(plugins=plugins, settings=settings, **wish) as host:
        with pytest.raises(PluginError, match=r"plugin acme: .*no licence"):
            await host.session()
