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
    link.textContent = entry.title;
    const cell = line.insertCell();
    cell.append(link);
    if (entry.title !== entry.path) {
      const sub = document.createElement("span");
      sub.className = "sub";
      sub.textContent = entry.path;
      cell.append(sub);
    }
    const bar = document.createElement("span");
    bar.className = "bar";
    bar.appendChild(document.createElement("i")).style.width = share(entry) + "%";
    const text = document.createElement("span");
    text.textContent = " " + told(entry);
    line.insertCell().append(...(entry.kind === "sweep" ? [bar, text] : [text]));
    line.insertCell().textContent = new Date(1000 * entry.changed).toLocaleString();
    return line;
  }

  // A page that is being made says so, and for how long.
  function making(line, text) {
    const began = Date.now();
    const tell = () => { line.textContent = `${text} … ${Math.round((Date.now() - began) / 1000)} s`; };
    line.hidden = false;
    tell();
    const clock = setInterval(tell, 1000);
    return () => { clearInterval(clock); line.hidden = true; };
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
    const form = document.querySelector("form.pair");
    if (form) form.addEventListener("submit", () => making(document.querySelector(".making"), "Comparing the runs"));
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
    const line = document.querySelector(".making");
    let over = making(line, line.textContent.replace(/ …$/, ""));
    frame.addEventListener("load", () => over());
    follow(async () => {
      const now = await get("/progress/" + path);
      say(now);
      if (now.changed !== before.changed && watch.querySelector("input").checked) {
        over();
        over = making(line, "Making the report again");
        frame.contentWindow.location.reload();
      }
      before = now;
    });
  }
  document.documentElement.dataset.ready = "";
})();
