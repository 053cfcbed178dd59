// Times: microseconds since the start of the run, as texts and back.
Report.time = (() => {
  const SECOND = 1000000;
  const UNITS = { h: 3600, m: 60, s: 1, ms: 1e-3, us: 1e-6, µs: 1e-6 };

  /** `42.100s`, `5m03.2s`, `1h00m05s`: short, and in the same width while time advances. */
  function text(micros) {
    const seconds = micros / SECOND;
    if (seconds < 60) return `${seconds.toFixed(3)}s`;
    const minutes = Math.floor(seconds / 60);
    const rest = (micros - minutes * 60 * SECOND) / SECOND;
    if (minutes < 60) return `${minutes}m${pad(rest, 3)}s`;
    return `${Math.floor(minutes / 60)}h${String(minutes % 60).padStart(2, "0")}m${pad(rest, 3)}s`;
  }

  function pad(seconds, digits) {
    return seconds.toFixed(digits).padStart(3 + digits, "0");
  }

  /** Microseconds from `42.1`, `42.1s` or a duration as Go writes it; null: it is none. */
  function parse(words) {
    if (/^\d+(\.\d+)?$/.test(words)) return Math.round(Number(words) * SECOND);
    if (!/^(\d+(\.\d+)?(h|ms|m|s|us|µs))+$/.test(words)) return null;
    let sum = 0;
    for (const [, number, , unit] of words.matchAll(/(\d+(\.\d+)?)(h|ms|m|s|us|µs)/g))
      sum += Number(number) * UNITS[unit];
    return Math.round(sum * SECOND);
  }

  /** An age as kubectl prints it (apimachinery's HumanDuration): two units at most. */
  function age(micros) {
    const seconds = Math.trunc(micros / SECOND);
    if (seconds < 0) return seconds === -1 ? "0s" : "<invalid>";
    if (seconds < 120) return `${seconds}s`;
    const minutes = Math.floor(seconds / 60);
    const hours = Math.floor(seconds / 3600);
    const days = Math.floor(hours / 24);
    if (minutes < 10) return two(minutes, "m", seconds % 60, "s");
    if (minutes < 180) return `${minutes}m`;
    if (hours < 8) return two(hours, "h", minutes % 60, "m");
    if (hours < 48) return `${hours}h`;
    if (hours < 192) return two(days, "d", hours % 24, "h");
    if (days < 730) return `${days}d`;
    const years = Math.floor(days / 365);
    return hours < 24 * 365 * 8 ? two(years, "y", days % 365, "d") : `${years}y`;
  }

  function two(large, unit, small, smallerUnit) {
    return small ? `${large}${unit}${small}${smallerUnit}` : `${large}${unit}`;
  }

  const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500]
    .map((each) => each * 1000)
    .concat(
      [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400, 604800].map(
        (each) => each * SECOND,
      ),
    );

  /** Round times between two, no more than `most`, each with its text. */
  function ticks(begin, end, most) {
    const span = Math.max(end - begin, 1);
    const step =
      STEPS.find((each) => span <= each * most) ??
      STEPS[STEPS.length - 1] * Math.ceil(span / STEPS[STEPS.length - 1] / most);
    const found = [];
    for (let t = Math.ceil(begin / step) * step; t <= end; t += step) found.push([t, tickText(t, step)]);
    return found;
  }

  function tickText(t, step) {
    if (step < SECOND) return `${(t / SECOND).toFixed(step < 10000 ? 3 : step < 100000 ? 2 : 1)}s`;
    const seconds = Math.round(t / SECOND);
    const parts = [
      [Math.floor(seconds / 3600), "h"],
      [Math.floor(seconds / 60) % 60, "m"],
      [seconds % 60, "s"],
    ];
    return (
      parts
        .filter(([number]) => number)
        .map(([number, unit]) => number + unit)
        .join("") || "0s"
    );
  }

  return { text, parse, age, ticks, SECOND };
})();
