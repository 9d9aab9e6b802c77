"""Which places are not the public internet."""

from __future__ import annotations

import pytest

from hermes_core.gate.urls import host_risk


@pytest.mark.parametrize(
    "target",
    [
        "https://example.org/a?b=c",
        "example.org",
        "example.org:8443",
        "https://8.8.8.8/",
        "http://[2606:4700::1111]/",
        "https://example.org./",
        "http://[64:ff9b::8.8.8.8]/",
    ],
)
def test_public_places_carry_no_risk(target: str) -> None:
    assert host_risk(target) == ""


@pytest.mark.parametrize(
    "target",
    [
        "http://localhost:11434",
        "localhost",
        "http://127.0.0.1/",
        "127.1",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://0177.0.0.1/",
        "http://0/",
        "http://10.1.2.3",
        "http://192.168.1.1",
        "http://100.64.0.1",
        "http://[::1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://[64:ff9b::10.0.0.1]/",
        "http://[fe80::1%25eth0]/",
        "http://printer.local",
        "http://nas",
        "http://app.localhost",
        "http://user:pw@127.0.0.1/",
    ],
)
def test_private_places_are_told_in_every_spelling(target: str) -> None:
    assert host_risk(target) == "private"


@pytest.mark.parametrize(
    "target",
    [
        "http://169.254.169.254/latest/meta-data",
        "http://metadata.google.internal/",
        "http://METADATA.google.internal./",
        "http://[::ffff:169.254.169.254]/",
        "http://2852039166/",
        "http://100.100.100.200/",
        "http://[fd00:ec2::254]/",
        "169.254.170.2",
    ],
)
def test_metadata_services_are_told_in_every_spelling(target: str) -> None:
    assert host_risk(target) == "metadata"


@pytest.mark.parametrize(
    "target",
    [
        "file:///etc/passwd",
        "gopher://example.org",
        "http://",
        "",
        "http://[::1",
        "http://999999999999/",
    ],
)
def test_what_is_no_web_address_is_invalid(target: str) -> None:
    assert host_risk(target) == "invalid"
