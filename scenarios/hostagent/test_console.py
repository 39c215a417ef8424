"""The console as a person uses it: the way in, what the page is told while it is open, and who else gets nothing."""

from __future__ import annotations

import itertools
import json
from typing import Any

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lasttick import World, scenario
from lasttick.model import login_limit

from .steps import HELD_BY_MCP, heard, over, workflow
from .watching import FORM, fill_in, knock, watch

COOKIE = "lasttick_console"
SOON_S = 1.0
"""A page is told within half a second."""
MARKUP = "<img src=x onerror=alert(1)>"


def soon_s(world: World) -> float:
    """How long to wait for what a page must be told: real machines are busy at times."""
    return SOON_S if world.mode == "virtual" else 4 * SOON_S


def password_of(host: Any) -> str:
    """As its owner finds it: in the identity folder."""
    return str(json.loads((host.options.identity_dir / "host_console.json").read_text())["password"])


def cookie_of(answer: httpx.Response) -> str:
    return str(answer.cookies[COOKIE])


# -- the way in --------------------------------------------------------------------------------------------------------


@scenario("HA-17")
async def test_a_password_opens_the_page(world: World) -> None:
    """A person opens the console, mistypes the password, gets it right. Until then there is a form and nothing else;
    then a page with every device on it, and a cookie that scripts cannot read and other sites cannot send."""
    host = await world.hostagent(devices=["phone-1", "ipad-1=ios@2"])
    async with host.http() as http:
        form = await http.get("/")
        assert form.status_code == 200
        assert 'type="password"' in form.text
        assert "<label" in form.text
        wrong = await fill_in(http, "not-it")
        assert wrong.status_code == 401
        assert 'role="alert"' in wrong.text, "what went wrong is said to who cannot see it, too"
        for page in (form, wrong):
            assert "phone-1" not in page.text, "who is not logged in sees no device"
            assert not page.cookies, "and gets no session"
        right = await fill_in(http, password_of(host))
        assert (right.status_code, right.headers["location"]) == (303, "/")
        flags = [part.strip().lower() for part in right.headers["set-cookie"].split(";")[1:]]
        assert sorted(flags) == ["httponly", "path=/", "samesite=strict"], f"the cookie's flags are {flags}"
        page = await http.get("/")
        for device in ("phone-1", "ipad-1"):
            assert device in page.text
        assert (await http.get("/api/status")).status_code == 200


@scenario("HA-17")
async def test_every_answer_keeps_strangers_out(world: World) -> None:
    """Pages, their parts, answers and refusals, before and after the login. Nothing foreign may run in them, frame them
    or keep them, no answer names another origin, and no name but this machine's is served."""
    host = await world.hostagent()
    console = await host.console()
    async with host.http() as http:
        answers = [await client.get(path) for client in (http, console) for path in ("/", "/console.js", "/api/status")]
        answers += [await http.get("/console.css"), await fill_in(http, "no"), await fill_in(http, "no", origin="null")]
        answers += [await knock(http)]
        nowhere = [await http.get("/nowhere"), await http.request("OPTIONS", "/"), await http.put("/login")]
        assert [answer.status_code for answer in nowhere] == [404, 405, 405]
        answers = nowhere + answers
        for answer in answers:
            what = f"{answer.request.method} {answer.request.url.path} ({answer.status_code})"
            policy = answer.headers.get("content-security-policy", "")
            assert policy.startswith("default-src 'none';"), f"{what}: {policy}"
            assert "frame-ancestors 'none'" in policy, what
            assert "unsafe" not in policy, what
            assert answer.headers.get("x-frame-options") == "DENY", what
            assert answer.headers.get("x-content-type-options") == "nosniff", what
            assert answer.headers.get("cache-control") == "no-store", what
            assert "access-control-allow-origin" not in answer.headers, what
        for answer in answers[:-1]:
            rest = answer.text.replace("http://www.w3.org/2000/svg", "")
            assert "//" not in rest.replace("// ", ""), f"{answer.request.url.path} names another address"
        port = httpx.URL(host.console_url).port
        for path in ("/", "/api/status", "/api/events", "/nowhere"):
            for name in (f"evil.example:{port}", f"127.0.0.1.evil.example:{port}", "127.0.0.1:1", ""):
                refused = await console.get(path, headers={"host": name})
                assert refused.status_code in (400, 421), f"Host {name!r} at {path} gave {refused.status_code}"
                assert "phone-1" not in refused.text
        for name in (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}"):
            assert (await http.get("/", headers={"host": name})).status_code == 200, name


ELSEWHERE = {
    "foreign-origin": {"origin": "http://evil.example"},
    "hidden-origin": {"origin": "null"},
    "another-port-of-this-machine": {"origin": "http://127.0.0.1:1", "sec-fetch-site": "same-site"},
    "another-name-of-this-machine": {"origin": "http://localhost.evil.example"},
    "https": {"origin": "https://{host}"},
    "cross-site": {"sec-fetch-site": "cross-site"},
    "same-site": {"sec-fetch-site": "same-site", "origin": "http://{host}"},
    "a-form-that-says-nothing": {"x-nothing": "1"},
}


@scenario("HA-17")
@pytest.mark.parametrize("row", ELSEWHERE)
async def test_a_form_on_another_page_does_nothing(world: World, row: str) -> None:
    """Another page sends a logged-in browser here with a form: to log it out, or to log it in as somebody else.
    403, no cookie, and the session goes on; the console's own form works."""
    host = await world.hostagent()
    console = await host.console()
    origin = httpx.URL(host.console_url)
    headers = {name: value.replace("{host}", f"{origin.host}:{origin.port}") for name, value in ELSEWHERE[row].items()}
    for path, data in (("/logout", {}), ("/login", {"password": password_of(host)})):
        refused = await console.post(path, data=data, headers=FORM | headers)
        assert refused.status_code == 403, f"{path} from another page gave {refused.status_code}"
        assert "set-cookie" not in refused.headers
    assert (await console.get("/api/status")).status_code == 200, "nobody else logs a person out"
    own = {"origin": host.console_url, "sec-fetch-site": "same-origin"}
    left = await console.post("/logout", data={}, headers=FORM | own)
    assert (left.status_code, left.headers["location"]) == (303, "/")


@scenario("HA-17")
async def test_a_session_is_made_at_the_login_and_ends_at_the_logout(world: World) -> None:
    """Somebody plants a cookie in a browser before its owner logs in, and copies the one that is given out later.
    The planted one never opens anything; the copy does until the owner logs in anew or out, and not a moment longer."""
    host = await world.hostagent()
    async with host.http() as planted, host.http() as owner:

        async def opens(session: str) -> bool:
            answer = await planted.get("/api/status", headers={"cookie": f"{COOKIE}={session}"})
            assert answer.status_code in (200, 401)
            return answer.status_code == 200

        fixed = "A" * 43
        given, brought = {"password": password_of(host)}, {"cookie": f"{COOKIE}={fixed}"}
        first = await owner.post("/login", json=given, headers=brought)
        assert cookie_of(first) != fixed, "the login must make a session of its own"
        assert not await opens(fixed), "a cookie that was there before the login opens the console"
        assert await opens(cookie_of(first))
        second = await owner.post("/login", json=given)
        assert cookie_of(second) != cookie_of(first)
        assert not await opens(cookie_of(first)), "the session that logged in anew is over"
        page = await watch(world, owner)
        await page.shows([], soon_s(world))
        assert (await owner.post("/logout")).status_code == 200
        assert not await opens(cookie_of(second)), "after the logout a copy of its cookie still opens the console"
        await page.ends(soon_s(world))
        assert page.why == "logged out"


# -- guessing ----------------------------------------------------------------------------------------------------------


async def mistype(http: httpx.AsyncClient, times: int) -> None:
    for number in range(times):
        answer = await http.post("/login", json={"password": f"guess-{number}"})
        assert answer.status_code == 401, f"wrong password {number + 1} gave {answer.status_code}"


@scenario("HA-17")
@given(ticks=st.integers(-2, 2))
@example(ticks=-1)
@example(ticks=0)
async def test_after_five_wrong_passwords_the_door_is_shut_for_a_second(world: World, ticks: int) -> None:
    """Five wrong passwords, then the right one, a tick before the second is over or at its end.
    Before: 429 as for a wrong one, with how long to wait; from then on it opens."""
    host = await world.hostagent()
    async with host.http() as http:
        await mistype(http, login_limit.FREE_TRIES)
        shut_s = world.now_s
        assert (await http.post("/login", json={"password": "guess"})).status_code == 429
        await world.until(shut_s + 1.0 + ticks * world.tick_s)
        wrong_now = ticks < 0
        right = await http.post("/login", json={"password": password_of(host)})
        assert right.status_code == (429 if wrong_now else 200), f"{ticks} ticks from the end: {right.status_code}"
        if wrong_now:
            assert right.headers["retry-after"] == "1"
            wrong = await http.post("/login", json={"password": "guess"})
            assert (wrong.status_code, wrong.text) == (right.status_code, right.text), "a shut door must not tell"
            assert "set-cookie" not in right.headers


@scenario("HA-17", needs=("scale",))
async def test_guessing_gets_slow_and_shuts_nobody_out(world: World) -> None:
    """Somebody guesses without a pause, for a quarter of an hour. The door is shut for longer each time, up to a
    minute, and never for longer because somebody knocks at it: the owner gets in at the first instant it is open. As
    long a quiet forgets all."""
    host = await world.hostagent()
    async with host.http() as http:
        await mistype(http, login_limit.FREE_TRIES - 1)
        compared: list[float] = []
        while world.now_s < 900:
            answer = await http.post("/login", json={"password": "guess"})
            if answer.status_code == 401:
                compared.append(world.now_s)
            knocks_s = 0.5 if len(compared) < 6 else 7.3
            wait_s = float((await http.post("/login", json={"password": "guess"})).headers["retry-after"])
            await world.advance(min(knocks_s, wait_s))
        gaps = [round(later - before) for before, later in itertools.pairwise(compared)]
        assert gaps[:6] == [1, 2, 4, 8, 16, 32], f"the door was shut for {gaps[:6]} s"
        assert all(gap == 60 for gap in gaps[6:]), f"later for {sorted(set(gaps[6:]))} s; a minute is the longest"
        assert len(compared) < 25
        await world.until(compared[-1] + 60)
        assert (await http.post("/login", json={"password": password_of(host)})).status_code == 200
        await mistype(http, login_limit.FREE_TRIES - 1)
        await world.advance(900)
        await mistype(http, login_limit.FREE_TRIES)


# -- what the page is told ---------------------------------------------------------------------------------------------


@scenario("HA-17")
async def test_a_lease_comes_and_goes_while_the_page_is_open(world: World) -> None:
    """A page is open, nobody reloads it. An agent takes a phone, calls again, and is silent: the page is told that it
    came, that a call is in flight, how long is left, and at the TTL's end that it went. Then one whose session ends."""
    host = await world.hostagent(devices=["phone-1", "phone-2"])
    page = await watch(world, await host.console())
    first = await page.shows([], soon_s(world))
    assert [row["status"] for row in first.data["devices"]] == ["idle", "idle"]
    alice = await host.client("alice")
    phone = world.device("phone-1")
    slack_s = world.tick_s if world.mode == "virtual" else SOON_S
    await phone.slow("tap", host.ttl_s * 1.003)  # so that the lease ends between two looks of the console
    call = alice.begin_tap("phone-1")
    came = await page.shows(["phone-1"], soon_s(world))
    (row,) = came.data["mcp_busy_devices"]
    assert (row["in_flight"], row["ttl_left_s"]) == (1, host.ttl_s), "the TTL does not run during a call"
    assert row["session"] == str(alice.raw.session_id)[:8]
    assert came.data["devices"][0]["status"] == "busy"
    assert (await call).ok
    await world.advance(SOON_S * 0.8)
    (row,) = page.boards[-1].data["mcp_busy_devices"]
    told_s = page.boards[-1].t_s - phone.last_end_s
    assert row["in_flight"] == 0, "the page must hear that the call has ended"
    assert abs(row["ttl_left_s"] - (host.ttl_s - told_s)) <= slack_s, f"{row} told {told_s:.3f} s after the call"
    free_s = phone.last_end_s + host.ttl_s
    gone = await page.shows([], host.ttl_s + soon_s(world))
    late_s = gone.t_s - free_s
    assert 0 <= late_s <= slack_s, f"the lease was free at t={free_s:.3f}; the page heard {late_s:.3f} s after"
    assert gone.data["devices"][0]["status"] == "idle"
    bob = await host.client("bob")
    assert (await bob.tap("phone-2")).ok
    await page.shows(["phone-2"], soon_s(world))
    await bob.end()
    await page.shows([], soon_s(world))
    assert len(page.boards) < 12, f"{len(page.boards)} boards were sent; what only counts is no news"


@scenario("HA-17", "HA-01")
async def test_the_stream_is_for_who_is_logged_in_and_ends_with_the_host(world: World) -> None:
    """Without a cookie, with a made-up one, with the MCP token: no events. A page that is open when the host stops is
    told so, and does not hold up the stop."""
    host = await world.hostagent()
    async with host.http() as http:
        for headers in (
            {},
            {"cookie": f"{COOKIE}=" + "A" * 43},
            {"cookie": f"{COOKIE}={host.token}"},
            {"authorization": f"Bearer {host.token}"},
        ):
            http.headers.clear()
            http.headers.update(headers)
            answer = await knock(http)
            assert answer.status_code == 401, f"/api/events with {list(headers)} gave {answer.status_code}"
            await answer.aclose()
        http.headers.clear()
        await fill_in(http, password_of(host))
        page = await watch(world, http)
        await page.shows([], soon_s(world))
        before_s = world.now_s
        await host.stop()
        assert world.now_s - before_s < 5.0, f"the stop took {world.now_s - before_s:.1f} s"
        await page.ends(soon_s(world))
        assert page.why == "stopping"


@scenario("HA-17")
async def test_so_many_pages_watch_and_no_more(world: World) -> None:
    """One person opens page after page. The ninth is told to try again later, and when one is closed it may."""
    host = await world.hostagent()
    console = await host.console()
    pages = [await watch(world, console) for _ in range(8)]
    refused = await knock(console)
    assert refused.status_code == 503
    assert refused.headers["retry-after"] == "5"
    await refused.aclose()
    await pages[0].answer.aclose()
    await world.advance(world.tick_s)
    await (await watch(world, console)).shows([], soon_s(world))


@scenario("HA-17", "HA-02")
async def test_the_page_tells_no_whole_session_and_no_secret(world: World) -> None:
    """Two agents hold phones while a page is open. Eight characters of each session are on the page and in its events;
    no whole session id, not the token, not the password, not the cookie."""
    host = await world.hostagent(devices=["phone-1", "phone-2"])
    console = await host.console()
    page = await watch(world, console)
    alice, bob = await host.client("alice"), await host.client("bob")
    assert (await alice.tap("phone-1")).ok
    assert (await bob.tap("phone-2")).ok
    await page.shows(["phone-1", "phone-2"], soon_s(world))
    shown = {
        "page": (await console.get("/")).text,
        "events": "\n".join(page.raw),
        "status": (await console.get("/api/status")).text,
    }
    sessions = [str(client.raw.session_id) for client in (alice, bob)]
    secrets = {"token": host.token, "password": password_of(host), "cookie": str(console.cookies[COOKIE])}
    for place, text in shown.items():
        for session in sessions:
            assert session[:8] in text, f"{place} does not say who holds a phone"
            assert session[:9] not in text, f"{place} shows more than 8 characters of a session"
        for name, secret in secrets.items():
            assert secret not in text, f"{place} shows the {name}"


@scenario("HA-17")
async def test_the_page_shows_what_the_cloud_had_done(world: World) -> None:
    """The cloud sends three tasks: one that works, one for a phone that an agent holds, one whose text is markup.
    The page lists them with device, status and reason, newest first; the markup stays text."""
    heartbeat_s = world.ttl_s * 4  # the cloud does not hear of the lease in between
    cloud = await world.cloud(heartbeat_s=heartbeat_s)
    host = await world.hostagent(devices=["phone-1", "phone-2"], heartbeat_s=heartbeat_s)
    console = await host.console()
    page = await watch(world, console)
    await heard(world, cloud)
    await over(world, cloud, await cloud.submit(workflow=workflow(7.5, 7.5), device_id="phone-2"))
    await over(world, cloud, await cloud.submit(goal=f"tap {MARKUP}", device_id="phone-2"))
    alice = await host.client("alice")
    assert (await alice.tap("phone-1")).ok
    await over(world, cloud, await cloud.submit(workflow=workflow(8.5, 8.5), device_id="phone-1"))
    await world.advance(SOON_S)
    held, markup, tapped = page.boards[-1].data["tasks"]
    assert (held["device_id"], held["status"], held["reason"]) == ("phone-1", "failed", HELD_BY_MCP)
    assert (tapped["device_id"], tapped["status"], tapped["reason"]) == ("phone-2", "succeeded", None)
    assert (markup["device_id"], markup["status"]) == ("phone-2", "failed")
    assert MARKUP in markup["reason"]
    html = (await console.get("/")).text
    assert "&lt;img src=x" in html, "the reason is on the page"
    assert "<img src=x" not in html, "and it is text there, not markup"


# -- in a real browser -------------------------------------------------------------------------------------------------


SAID_BY_THE_LINK = """() => {
    window.linkSaid = [];
    const text = document.getElementById("link-text");
    new MutationObserver(() => window.linkSaid.push(text.textContent)).observe(text, { childList: true });
}"""


async def log_in_by_keyboard(host: Any, tab: Any) -> None:
    """Whoever opens the page types and presses Enter: the field has the focus."""
    await tab.goto(host.console_url)
    assert await tab.evaluate("document.activeElement.id") == "password"
    await tab.keyboard.type(password_of(host))
    await tab.keyboard.press("Enter")
    await tab.wait_for_selector("#link[data-state=live]")


@scenario("HA-17", needs=("browser",))
async def test_a_person_sees_a_lease_come_and_go(world: World) -> None:
    """Chromium. A person logs in with the keyboard alone and sees the devices. An agent takes a phone: the lease
    appears without a reload, counts down, and goes at the end of its TTL. Then they log out with the keyboard, and the
    other tab that was open shows the form. Nothing was asked of any other machine."""
    host = await world.hostagent(devices=["phone-1", "phone-2", "ipad-1=ios@2"], ttl_s=world.ttl_s * 4)
    browser = await world.browser()
    tab = await browser.page()
    await log_in_by_keyboard(host, tab)
    names = await tab.locator("#devices .name").all_inner_texts()
    assert sorted(names) == ["ipad-1", "phone-1", "phone-2"]
    await tab.evaluate("window.neverReloaded = true")
    await tab.screenshot(path=world.artifact("nothing-held.png"))
    alice = await host.client("alice")
    assert (await alice.tap("phone-1")).ok
    row = tab.locator("#leases .row")
    await row.wait_for()
    await tab.screenshot(path=world.artifact("live-lease.png"))
    text = await row.inner_text()
    assert "phone-1" in text
    assert str(alice.raw.session_id)[:8] in text
    assert str(alice.raw.session_id)[:9] not in await tab.content()
    assert "busy" in await tab.locator("#devices .row", has_text="phone-1").inner_text()
    before = await tab.locator("#leases progress").evaluate("bar => bar.value")
    await tab.wait_for_function("before => document.querySelector('#leases progress')?.value < before", arg=before)
    assert "phone-1 is held" in await tab.locator("#said").inner_text(), "who does not see it is told"
    await tab.locator("#leases .empty").wait_for()
    late_s = world.now_s - (world.device("phone-1").last_end_s + host.ttl_s)
    assert -0.05 <= late_s < 3, f"the lease left the page {late_s:.2f} s after its end"
    assert await tab.evaluate("window.neverReloaded") is True, "nobody reloads the page"
    other = await tab.context.new_page()
    await other.goto(host.console_url)
    await other.wait_for_selector("#link[data-state=live]")
    await tab.bring_to_front()
    for _ in range(10):
        await tab.keyboard.press("Tab")
        if await tab.evaluate("document.activeElement.textContent") == "Log out":
            break
    await tab.keyboard.press("Enter")
    for page in (tab, other):
        await page.wait_for_selector("#password")
    foreign = [url for url in browser.asked if not url.startswith(host.console_url + "/")]
    assert not foreign, f"the page asked {foreign}"
    assert not browser.errors, browser.errors


@scenario("HA-17", needs=("browser",))
async def test_on_a_phone_and_in_the_dark(world: World) -> None:
    """Chromium, 360 x 740, dark. Long names, a lease with a call in flight, a task whose reason is markup. Nothing is
    wider than the screen, the markup runs nowhere, and without scripts the same is shown as it stands."""
    long_name = "the-tablet-" + "x" * 50
    cloud = await world.cloud()
    host = await world.hostagent(devices=["phone-1", long_name])
    browser = await world.browser()
    tab = await browser.page((360, 740), dark=True)
    dialogs: list[str] = []
    tab.on("dialog", lambda dialog: dialogs.append(dialog.message))
    await tab.goto(host.console_url)
    await tab.screenshot(path=world.artifact("phone-login.png"))
    await log_in_by_keyboard(host, tab)
    await heard(world, cloud)
    await over(world, cloud, await cloud.submit(goal=f"tap {MARKUP}", device_id="phone-1"))
    await world.device(long_name).slow("tap", host.ttl_s * 2)
    alice = await host.client("alice")
    call = alice.begin_tap(long_name)
    await tab.locator("#leases .row", has_text="1 call in flight").wait_for()
    await tab.locator("#tasks .reason").wait_for()
    await tab.screenshot(path=world.artifact("phone-dark.png"), full_page=True)
    plain = await browser.page((360, 740), scripts=False, like=tab)
    await plain.goto(host.console_url)
    await plain.screenshot(path=world.artifact("phone-without-scripts.png"), full_page=True)
    for page in (tab, plain):
        assert MARKUP in await page.locator("#tasks .reason").inner_text()
        assert await page.locator("#tasks img").count() == 0, "a task's text became an element"
        assert long_name in await page.locator("#leases").inner_text()
    wide = await tab.evaluate("document.documentElement.scrollWidth")
    assert wide <= 360, f"the page is {wide} px wide on a screen of 360"
    assert not dialogs
    assert not browser.errors, browser.errors
    assert (await call).ok


@scenario("HA-17", needs=("browser",))
async def test_a_page_that_hears_nothing_asks_again(world: World) -> None:
    """Chromium. The connection of an open page dies on the way, as when a phone leaves one network for another: nobody
    reports it. After 40 s without a word the page says so, asks again, and follows what happens as before."""
    host = await world.hostagent(devices=["phone-1"], ttl_s=world.ttl_s * 4)
    browser = await world.browser()
    tab = await browser.page()
    await tab.clock.install()
    await log_in_by_keyboard(host, tab)
    streams = f"{host.console_url}/api/events"
    before = browser.asked.count(streams)
    await tab.evaluate(SAID_BY_THE_LINK)
    await tab.clock.fast_forward(41_000)
    await tab.wait_for_function("() => window.linkSaid.includes('live')")
    said = await tab.evaluate("window.linkSaid")
    assert said[0] == "no news for 40 s, trying again", f"the page said {said}"
    assert len(said) == 2, f"whoever does not see it was told {said}"
    assert browser.asked.count(streams) == before + 1
    alice = await host.client("alice")
    assert (await alice.tap("phone-1")).ok
    await tab.locator("#leases .row").wait_for()
    assert not browser.errors, browser.errors
