// Keeps the board up to date from /api/events. Names and reasons are anybody's text: they only ever become textContent.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const owners = { mcp: "MCP", cloud: "cloud" };
  const platforms = { android: "Android", ios: "iOS" };
  const quietMs = 40000;
  const retryMs = 3000;
  let board = null;      // the last status object
  let boardMs = 0;       // when it came, on a clock that nobody sets
  let heardMs = 0;
  let leases = [];       // what counts down: {row, count, bar, facts}
  let source = null;

  const element = (name, kind, text) => {
    const made = document.createElement(name);
    if (kind) made.className = kind;
    if (text !== undefined) made.textContent = text;
    return made;
  };

  const rowOf = (name, kind, status, facts) => {
    const row = element("li", "row");
    row.append(element("p", "name", name), element("p", "badge " + kind, status), facts);
    return row;
  };

  const fill = (list, rows, empty) => list.replaceChildren(...(rows.length ? rows : [element("li", "empty", empty)]));

  const seconds = (value) => {
    const whole = Math.floor(value);
    if (whole < 120) return whole + " s";
    if (whole < 7200) return Math.floor(whole / 60) + " min";
    return Math.floor(whole / 3600) + " h";
  };

  const plural = (number, what) => number + " " + what + (number === 1 ? "" : "s");

  const leaseRow = (lease, known) => {
    const kind = lease.in_flight ? "busy" : "held";
    const facts = element("p", "facts", "session ");
    const held = document.createTextNode("");
    facts.append(element("code", "", lease.session), held);
    const calls = lease.in_flight ? plural(lease.in_flight, "call") + " in flight" : "between calls";
    const row = rowOf(lease.device_id, kind, calls, facts);
    const left = element("p", "left");
    const bar = element("progress");
    bar.max = board.ttl_s;
    bar.setAttribute("aria-label", "TTL left");
    const count = element("span", "count");
    left.append(bar, count);
    row.append(left);
    if (!known) row.classList.add("new");
    leases.push({ lease, held, bar, count });
    return row;
  };

  const deviceRow = (device) => {
    const owner = owners[device.owner];
    const size = device.width_px + " \u00d7 " + device.height_px + " px";
    const facts = (platforms[device.platform] || device.platform) + " \u00b7 " + size;
    const status = owner ? device.status + " \u00b7 " + owner : device.status;
    return rowOf(device.device_id, device.status, status, element("p", "facts", facts));
  };

  const taskRow = (task) => {
    const facts = element("p", "facts", task.device_id + " \u00b7 ");
    const ago = document.createTextNode("");
    facts.append(ago);
    const row = rowOf(task.assignment_id, task.status, task.status, facts);
    if (task.reason) row.append(element("p", "reason", task.reason));
    leases.push({ task, ago });
    return row;
  };

  // What the numbers say now: they count here, and no message is sent for that.
  const count = () => {
    const gone = (performance.now() - boardMs) / 1000;
    for (const one of leases) {
      if (one.task) {
        const took = one.task.took_s === null ? "" : ", took " + (one.task.took_s < 1 ? "under 1 s" : seconds(one.task.took_s));
        one.ago.data = "began " + seconds(one.task.began_s_ago + gone) + " ago" + took;
        continue;
      }
      one.held.data = " \u00b7 held " + seconds(one.lease.held_s + gone);
      const left = one.lease.in_flight ? board.ttl_s : Math.max(0, one.lease.ttl_left_s - gone);
      one.bar.value = left;
      one.count.textContent = one.lease.in_flight
        ? board.ttl_s + " s from the end of the call"
        : Math.ceil(left) + " s left";
    }
    if (source && performance.now() - heardMs > quietMs) anew();
  };

  const held = (status) => new Map(status.mcp_busy_devices.map((lease) => [lease.device_id, lease.session]));

  // For who does not see the board: what came and what went, in words.
  const say = (before, now) => {
    const told = [];
    for (const [device, session] of now) {
      if (before.get(device) !== session) told.push(device + " is held by MCP session " + session);
    }
    for (const device of before.keys()) if (!now.has(device)) told.push(device + " is free");
    if (told.length) byId("said").textContent = told.join(". ") + ".";
  };

  const show = (status) => {
    const before = board ? held(board) : null;
    board = status;
    boardMs = performance.now();
    leases = [];
    const known = before || held(status);
    byId("host").textContent = status.host_id;
    byId("summary").textContent =
      status.mcp_busy_devices.length + " of " + plural(status.devices.length, "device") + " held";
    fill(byId("leases"), status.mcp_busy_devices.map((lease) => leaseRow(lease, known.get(lease.device_id) === lease.session)),
      "No device is held over MCP.");
    fill(byId("devices"), status.devices.map(deviceRow), "This host agent drives no device.");
    fill(byId("tasks"), status.tasks.map(taskRow), "No cloud task has run on this host yet.");
    count();
    if (before) say(before, held(status));
  };

  const link = (state, text) => {
    const shown = byId("link");
    if (shown.dataset.state === state && byId("link-text").textContent === text) return;
    shown.dataset.state = state;
    byId("link-text").textContent = text;
  };

  const heard = () => {
    heardMs = performance.now();
    link("live", "live");
  };

  // The stream was refused or cut: is there still a session? Without one this page is the login form.
  const ask = () => fetch("/api/status", { signal: AbortSignal.timeout(quietMs) }).then(
    (answer) => (answer.status === 401 ? location.reload() : watch()),
    () => setTimeout(ask, retryMs),
  );

  // The host says something every 15 s. A connection that died on the way, of a phone that left one network for
  // another, is never reported as broken to who only listens: hang up and ask. Said once, not with every second.
  const anew = () => {
    link("lost", "no news for " + seconds(quietMs / 1000) + ", trying again");
    source.close();
    source = null;
    ask();
  };

  const watch = () => {
    heardMs = performance.now();
    source = new EventSource("/api/events");
    source.addEventListener("open", heard);
    source.addEventListener("alive", heard);
    source.addEventListener("board", (message) => { heard(); show(JSON.parse(message.data)); });
    source.addEventListener("over", (message) => {
      if (JSON.parse(message.data).why === "stopping") return;
      source.close();
      location.reload();
    });
    source.addEventListener("error", () => {
      link("lost", "not connected, trying again");
      if (source === null || source.readyState !== EventSource.CLOSED) return;
      source = null;
      setTimeout(ask, retryMs);
    });
  };

  setInterval(count, 250);
  watch();
})();
