"""Can a rack be written down in one line, and does a wrong line say what is wrong?"""

from __future__ import annotations

import pytest

from lasttick_fakes.devices import DeviceSpec, DeviceSpecError, parse_devices


def test_defaults_are_android_and_ios_at_two() -> None:
    assert parse_devices("phone-1=android, ipad-1=ios@3,phone-2,ipad_2.x=ios") == [
        DeviceSpec("phone-1", "android", 1),
        DeviceSpec("ipad-1", "ios", 3),
        DeviceSpec("phone-2", "android", 1),
        DeviceSpec("ipad_2.x", "ios", 2),
    ]


@pytest.mark.parametrize("text", ["phone-1", "a=ios", "a=ios@3"])
def test_both_sides_of_the_glass_divide_by_the_scale(text: str) -> None:
    info = parse_devices(text)[0].info
    assert info.width_px % info.scale == info.height_px % info.scale == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "an empty device in ''; expected ID"),
        ("phone-1,,phone-2", "an empty device in 'phone-1,,phone-2'; expected ID"),
        ("phone-1,phone-1=ios", "device 'phone-1' is named twice; every device needs an id of its own; rename one"),
        ("phone 1", "'phone 1' is no device id; expected 1 to 64 letters"),
        ("=android", "'' is no device id"),
        ("a/b", "'a/b' is no device id"),
        ("x" * 65, "is no device id"),
        ("phone-1=", "device phone-1 has the platform ''; expected ID"),
        ("phone-1=windows", "device phone-1 has the platform 'windows'; expected ID"),
        ("phone-1=android@2", "device phone-1 has the platform 'android@2'"),
        ("ipad-1=ios@1", "use one of android, ios, ios@2, ios@3"),
        ("ipad-1=ios@2=x", "device ipad-1 has the platform 'ios@2=x'"),
    ],
)
def test_a_wrong_line_is_refused_with_a_reason(text: str, message: str) -> None:
    with pytest.raises(DeviceSpecError) as caught:
        parse_devices(text)
    assert message in str(caught.value)
