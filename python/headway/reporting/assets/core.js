// Numbers, axes and ticks: the same as in `ticks.py` and `units.py`, so that a panel looks the same whoever draws it.
const LADDERS = {
  time: [[1e-9, "ns"], [1e-6, "µs"], [1e-3, "ms"], [1, "s"]],
  bytes: [[1, "B"], [1e3, "kB"], [1e6, "MB"], [1e9, "GB"]],
  rate: [[1, "b/s"], [1e3, "kb/s"], [1e6, "Mb/s"], [1e9, "Gb/s"], [1e12, "Tb/s"]],
  hops: [[1, "/s"], [1e3, "k/s"], [1e6, "M/s"]],
  percent: [[0.01, "%"]],
  ratio: [[1, ""]],
  count: [[1, ""]],
};

/** The largest unit in which a value is still at least 1, as [scale, suffix]. */
function unitFor(quantity, value) {
  const ladder = LADDERS[quantity] || LADDERS.ratio;
  return ladder.filter(([scale]) => Math.abs(value) >= scale * 0.9995).pop() || ladder[0];
}

function format(quantity, value) {
  if (value === null || value === undefined) return "–";
  const [scale, suffix] = unitFor(quantity, value);
  const scaled = value / scale;
  const text = quantity === "percent" ? scaled.toFixed(1)
    : Number.isInteger(scaled) ? String(scaled) : String(Number(scaled.toPrecision(4)));
  return suffix ? text + "\u202f" + suffix : text;
}

const share = (axis, v) => axis.log
  ? Math.log(Math.max(v, axis.low) / axis.low) / Math.log(axis.high / axis.low)
  : (v - axis.low) / (axis.high - axis.low);
const unshare = (axis, s) => axis.log
  ? axis.low * Math.pow(axis.high / axis.low, s) : axis.low + s * (axis.high - axis.low);

const general = (value) => String(Number(value.toPrecision(6)));

function roundStep(span, count) {
  const raw = span / Math.max(1, count);
  const power = Math.pow(10, Math.floor(Math.log10(raw)));
  return ([1, 2, 5, 10].find((factor) => raw <= factor * power * 1.0000001) || 10) * power;
}

function linearTicks(axis, count) {
  const scale = unitFor(axis.quantity, axis.high)[0];
  if (axis.marks) return axis.marks.map((mark) => [mark, general(mark / scale)]);
  const low = axis.low / scale, high = axis.high / scale;
  const step = roundStep(high - low, count);
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const first = Math.ceil(low / step - 1e-9), last = Math.floor(high / step + 1e-9);
  const found = [];
  for (let i = first; i <= last; i++) found.push([i * step * scale, (i * step).toFixed(decimals)]);
  if (first * step - low > 0.4 * step) found.unshift([axis.low, low.toFixed(decimals)]);
  return found;
}

function logText(quantity, value) {
  const [scale, suffix] = unitFor(quantity, value);
  return (general(value / scale) + " " + suffix).trimEnd();
}

function logTicks(axis, count) {
  const first = Math.floor(Math.log10(axis.low)), last = Math.ceil(Math.log10(axis.high));
  const decades = Math.log10(axis.high / axis.low);
  const coarse = decades > 2.2 ? 0 : decades > 1.2 ? 1 : decades > 0.5 ? 2 : 3;
  const every = Math.max(1, Math.ceil(decades / (count + 2)));
  for (const named of [[1], [1, 3], [1, 2, 5], [1, 2, 3, 4, 5, 7]].slice(coarse)) {
    const found = [];
    for (let power = first; power <= last; power++) {
      for (let factor = 1; factor < 10; factor++) {
        const value = factor * Math.pow(10, power);
        if (value < axis.low || value > axis.high) continue;
        const text = named.includes(factor) && (factor > 1 || power % every === 0);
        found.push([value, text ? logText(axis.quantity, value) : ""]);
      }
    }
    if (found.filter(([, text]) => text).length >= 2) return found;
  }
  const round = (many) => linearTicks(axis, many).filter(([value]) => value !== axis.low);
  const even = round(count).length < 2 ? round(2 * count) : round(count);
  return even.map(([value]) => [value, logText(axis.quantity, value)]);
}

/** Ticks as [value, text]; on a logarithmic axis those without text are minor. */
const ticks = (axis, count = 5) => (axis.log ? logTicks(axis, count) : linearTicks(axis, count));

function axisTitle(axis) {
  const suffix = axis.log ? "" : unitFor(axis.quantity, axis.high)[1];
  return suffix ? axis.label + " (" + suffix + ")" : axis.label;
}

const escaped = (text) => String(text).replace(/[&<>"']/g, (c) => "&#" + c.charCodeAt(0) + ";");
