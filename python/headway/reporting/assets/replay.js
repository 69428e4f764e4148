// Plays the packets of a run on its topology. Times are nanoseconds of the run.
const REPLAY_SPEEDS = [1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6]; // nanoseconds a second
const LANE = 5, STACK_AT = 30, STACK_STEP = 3.2, STACK_MOST = 20;
const FLOW_HUES = [["#332f9c", "#6f7bff"], ["#117733", "#7fe88a"], ["#e0607e", "#f490c8"], ["#b18e15", "#d9c03a"],
  ["#472400", "#c9651a"], ["#9a7bea", "#dcc8ff"], ["#7d0451", "#f04a8a"], ["#2f9fb0", "#9af7ee"]];
const NOBODY = ["#8a8f99", "#b9c0cc"];

function beginReplay() {
  const figure = document.getElementById("replay");
  if (!figure || !data.replay) return;
  const tape = data.replay, stage = figure.querySelector(".stage"), canvas = stage.querySelector("canvas");
  const part = (name) => figure.querySelector(`[data-do=${name}]`);
  let sum = 0;
  const start = tape.start.map((step) => (sum += step));
  const links = tape.links.map(([a, b, rate, delay]) => laneOf(tape.nodes[a], tape.nodes[b], rate, delay));
  // How long a packet takes from its first bit at one end to its last bit at the other.
  const takes = start.map((_, i) => tape.bytes[i] * 8e9 / links[tape.link[i]].rate + links[tape.link[i]].delay * 1e9);
  const longest = takes.reduce((most, one) => Math.max(most, one), 1);
  const waits = tape.waited.reduce((most, one) => Math.max(most, one), 0);
  const end = start.length ? start[start.length - 1] + longest : 1;
  let now = 0, speed = REPLAY_SPEEDS.find((one) => one >= longest * 1.2) || 1e6, playing = false, last = 0;
  let colours = tape.whats.map((_, i) => tape.colours[i]), ofPacket = (i) => tape.what[i];

  function laneOf([x1, y1], [x2, y2], rate, delay) {
    const length = Math.hypot(x2 - x1, y2 - y1) || 1, dx = (x2 - x1) / length, dy = (y2 - y1) / length;
    return { x: x1 - dy * LANE, y: y1 + dx * LANE, dx, dy, length, rate, delay };
  }

  function dark() {
    const mode = document.documentElement.dataset.mode;
    return mode ? mode === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  function paint() {
    const svg = stage.querySelector("svg"), box = svg.getBoundingClientRect(), ratio = devicePixelRatio || 1;
    const wide = Math.round(box.width * ratio), tall = Math.round(box.height * ratio);
    if (canvas.width !== wide || canvas.height !== tall) {
      [canvas.width, canvas.height] = [wide, tall];
      [canvas.style.width, canvas.style.height] = [box.width + "px", box.height + "px"];
    }
    const context = canvas.getContext("2d"), scale = wide / tape.box[0], night = Number(dark());
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, tape.box[0], tape.box[1]);
    const ink = getComputedStyle(document.body).color, queues = new Map();
    let moving = 0;
    for (let i = Math.max(0, below(start, now - 1.2 * longest)); i < start.length && start[i] - waits <= now; i++) {
      if (start[i] > now) {
        if (start[i] - tape.waited[i] > now) continue;
        if (!queues.has(tape.link[i])) queues.set(tape.link[i], []);
        queues.get(tape.link[i]).push(i);
        continue;
      }
      const done = (now - start[i]) / takes[i];
      if (done > 1.2) continue;
      context.fillStyle = (colours[ofPacket(i)] || NOBODY)[night];
      if (done > 1) {
        if (tape.lost[i]) loss(context, links[tape.link[i]]);
        continue;
      }
      moving++;
      packet(context, links[tape.link[i]], done, tape.bytes[i]);
    }
    for (const [link, waiting] of queues) stack(context, links[link], waiting, night, ink);
    part("now").textContent = `${(now / 1e6).toFixed(4)} ms`;
    part("seek").value = String(Math.round(1000 * now / end));
    stage.dataset.moving = String(moving);
    stage.dataset.waiting = String([...queues.values()].reduce((total, one) => total + one.length, 0));
    stage.dataset.now = String(now);
    for (const svg of shown.keys()) if (svg.isConnected && groupOf(svg) === "time") cross(svg, now / 1e9);
  }

  function packet(context, lane, done, bytes) {
    const long = bytes > 200 ? 11 : 6, thick = bytes > 200 ? 6 : 4;
    context.save();
    context.translate(lane.x + lane.dx * lane.length * done, lane.y + lane.dy * lane.length * done);
    context.rotate(Math.atan2(lane.dy, lane.dx));
    context.fillRect(-long / 2, -thick / 2, long, thick);
    context.restore();
  }

  function loss(context, lane) {
    const x = lane.x + lane.dx * (lane.length - 16), y = lane.y + lane.dy * (lane.length - 16);
    context.strokeStyle = "#e02424";
    context.lineWidth = 2.5;
    context.beginPath();
    context.moveTo(x - 5, y - 5);
    context.lineTo(x + 5, y + 5);
    context.moveTo(x + 5, y - 5);
    context.lineTo(x - 5, y + 5);
    context.stroke();
  }

  /** The packets that wait for a link: a stack away from it, where the link begins. */
  function stack(context, lane, waiting, night, ink) {
    context.save();
    context.translate(lane.x + lane.dx * STACK_AT, lane.y + lane.dy * STACK_AT);
    context.rotate(Math.atan2(lane.dy, lane.dx));
    waiting.slice(0, STACK_MOST).forEach((i, place) => {
      context.fillStyle = (colours[ofPacket(i)] || NOBODY)[night];
      context.fillRect(-6, 6 + place * STACK_STEP, 12, STACK_STEP - 0.8);
    });
    context.restore();
    const height = 14 + Math.min(waiting.length, STACK_MOST) * STACK_STEP;
    context.fillStyle = ink;
    context.font = "600 12px system-ui, sans-serif";
    context.textAlign = "center";
    const x = lane.x + lane.dx * STACK_AT - lane.dy * height, y = lane.y + lane.dy * STACK_AT + lane.dx * height;
    context.fillText(String(waiting.length), x, y + 4);
  }

  function seek(to) {
    now = Math.min(Math.max(to, 0), end);
    paint();
  }

  function play(on) {
    playing = on;
    part("play").textContent = on ? "❚❚" : "▶";
    part("play").setAttribute("aria-label", on ? "Stop" : "Play");
    if (!on) return;
    if (now >= end) now = 0;
    last = performance.now();
    requestAnimationFrame(frame);
  }

  function frame(time) {
    if (!playing) return;
    seek(now + Math.max(0, time - last) / 1000 * speed);
    last = time;
    if (now >= end) play(false);
    else requestAnimationFrame(frame);
  }

  function step(by) {
    play(false);
    const i = below(start, now);
    if (by > 0) seek(start[Math.min(i + 1, start.length - 1)]);
    else seek(start[Math.max(below(start, start[Math.max(i, 0)] - 1), 0)]);
  }

  function setSpeed(value) {
    speed = value;
    part("speed").value = String(value);
  }

  for (const one of REPLAY_SPEEDS) part("speed").add(new Option(format("time", one / 1e9) + " a second", String(one)));
  setSpeed(speed);
  part("speed").addEventListener("change", () => setSpeed(Number(part("speed").value)));
  if (tape.flows.length) {
    part("by").add(new Option("flows", "flow"));
    tape.flows.forEach((name, i) => {
      const button = figure.querySelector(".jumps").appendChild(document.createElement("button"));
      button.type = "button";
      button.textContent = name + " starts";
      button.addEventListener("click", () => seek(tape.starts[i] * 1e9));
    });
  }
  part("by").addEventListener("change", () => {
    const flows = part("by").value === "flow";
    colours = flows ? FLOW_HUES : tape.whats.map((_, i) => tape.colours[i]);
    ofPacket = flows ? (i) => tape.flow[i] : (i) => tape.what[i];
    const names = flows ? tape.flows : null, box = figure.querySelector(".what");
    box.querySelectorAll(".of-flow").forEach((node) => node.remove());
    box.querySelectorAll("span").forEach((node) => { node.hidden = flows; });
    (names || []).forEach((name, i) => {
      const entry = box.appendChild(document.createElement("span"));
      entry.className = "of-flow";
      const swatch = entry.appendChild(document.createElement("i"));
      swatch.className = "swatch";
      swatch.style.background = FLOW_HUES[i][Number(dark())];
      entry.append(name);
    });
    paint();
  });
  part("play").addEventListener("click", () => play(!playing));
  part("step").addEventListener("click", () => step(1));
  part("back").addEventListener("click", () => step(-1));
  part("seek").addEventListener("input", () => seek(Number(part("seek").value) / 1000 * end));
  stage.addEventListener("keydown", (event) => {
    const place = REPLAY_SPEEDS.indexOf(speed);
    if (event.key === " ") play(!playing);
    else if (event.key === "ArrowRight") step(1);
    else if (event.key === "ArrowLeft") step(-1);
    else if (event.key === "+" || event.key === "=") setSpeed(REPLAY_SPEEDS[Math.min(place + 1, REPLAY_SPEEDS.length - 1)]);
    else if (event.key === "-") setSpeed(REPLAY_SPEEDS[Math.max(place - 1, 0)]);
    else if (event.key === "Home") seek(0);
    else return;
    event.preventDefault();
  });
  new ResizeObserver(paint).observe(stage);
  paint();
}
