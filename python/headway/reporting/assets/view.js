"use strict";
(() => {
  const PERIOD = 2000; // milliseconds between looks at a sweep that runs

  const share = (entry) => (entry.total ? 100 * entry.done / entry.total : 100);
  const told = (entry) => entry.kind === "run" ? "run"
    : `${entry.done} of ${entry.total} points` + (entry.failed ? `, ${entry.failed} failed` : "") + (entry.open ? "" : ", ended");

  async function get(url) {
    const answer = await fetch(url);
    if (!answer.ok) throw new Error(answer.statusText);
    return answer.json();
  }

  function row(entry) {
    const line = document.createElement("tr"), link = document.createElement("a");
    line.dataset.path = entry.path;
    link.href = "/watch/" + entry.path.split("/").map(encodeURIComponent).join("/");
    link.textContent = entry.path;
    line.insertCell().append(link);
    const bar = document.createElement("span");
    bar.className = "bar";
    bar.appendChild(document.createElement("i")).style.width = share(entry) + "%";
    const text = document.createElement("span");
    text.textContent = " " + told(entry);
    line.insertCell().append(...(entry.kind === "sweep" ? [bar, text] : [text]));
    line.insertCell().textContent = new Date(1000 * entry.changed).toLocaleString();
    return line;
  }

  function follow(look) {
    const again = () => look().catch(() => document.documentElement.classList.add("gone")).finally(() => setTimeout(again, PERIOD));
    setTimeout(again, PERIOD);
  }

  const list = document.getElementById("entries");
  if (list) {
    const draw = ({ entries }) => list.replaceChildren(...entries.map(row));
    draw(JSON.parse(document.getElementById("data").textContent));
    follow(async () => draw(await get("/state")));
  }

  const watch = document.querySelector(".watch");
  if (watch) {
    const path = watch.dataset.path, frame = document.querySelector("iframe");
    let before = JSON.parse(document.getElementById("data").textContent);
    const say = (entry) => {
      watch.querySelector(".told").textContent = told(entry);
      watch.querySelector(".bar i").style.width = share(entry) + "%";
    };
    say(before);
    follow(async () => {
      const now = await get("/progress/" + path);
      say(now);
      if (now.changed !== before.changed && watch.querySelector("input").checked) frame.contentWindow.location.reload();
      before = now;
    });
  }
  document.documentElement.dataset.ready = "";
})();
