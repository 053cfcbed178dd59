// Drawing the lanes: bands, marks of records, ticks. Nothing here knows about clicks or scrolling.
Report.canvas = (() => {
  const NAMES = 210; // pixels for the names of the rows
  const MARGIN = 16;
  const TONES = ["waiting", "running", "good", "bad", "done", "off", "ending"];
  const FONT = '12px system-ui, -apple-system, "Segoe UI", "Liberation Sans", "DejaVu Sans", sans-serif';

  function colours() {
    const style = getComputedStyle(document.documentElement);
    const names = [...TONES, "paper", "ink", "soft", "line", "stripe", "normal", "warning"];
    return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  }

  /** A canvas of this size on this screen, ready to draw on. */
  function sized(canvas, width, height) {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.max(Math.round(width * ratio), 1);
    canvas.height = Math.max(Math.round(height * ratio), 1);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = FONT;
    context.textBaseline = "middle";
    return context;
  }

  /** The scale of a window of time: from times to pixels, and back. */
  function scale(span, width) {
    const perMicro = (width - NAMES - MARGIN) / Math.max(span.end - span.begin, 1);
    return {
      x: (t) => NAMES + (t - span.begin) * perMicro,
      t: (x) => Math.min(Math.max(span.begin + (x - NAMES) / perMicro, span.begin), span.end),
      perMicro,
    };
  }

  function axis(context, span, width, height, colour) {
    const { x } = scale(span, width);
    context.fillStyle = colour.soft;
    for (const [t, text] of Report.time.ticks(span.begin, span.end, Math.max(Math.floor((width - NAMES) / 90), 2))) {
      const room = context.measureText(text).width / 2;
      context.textAlign = x(t) + room > width ? "right" : x(t) - room < NAMES ? "left" : "center";
      context.fillText(text, x(t), height / 2);
    }
    context.textAlign = "left";
  }

  function grid(context, span, width, height, colour) {
    const { x } = scale(span, width);
    context.fillStyle = colour.line;
    for (const [t] of Report.time.ticks(span.begin, span.end, Math.max(Math.floor((width - NAMES) / 90), 2))) {
      context.fillRect(Math.round(x(t)), 0, 1, height);
    }
  }

  function bands(context, run, lane, span, width, top, height, colour) {
    const { x, perMicro } = scale(span, width);
    const right = width - MARGIN;
    for (const [begin, length, text, tone] of lane.bands) {
      if (begin > span.end || begin + length < span.begin) continue;
      const from = Math.max(x(begin), NAMES);
      const to = Math.min(x(begin) + Math.max(length * perMicro, 1), right);
      context.fillStyle = colour[tone];
      context.fillRect(from, top + 2, Math.max(to - from - 1, 1), height - 4); // a pixel between bands
      label(context, run.strings[text], from, to, top + height / 2, colour);
    }
  }

  function label(context, text, from, to, middle, colour) {
    const room = to - from - 8;
    if (room < 26) return;
    context.fillStyle = colour.ink;
    const most = Math.floor(room / 6.9);
    const shown = text.length <= most ? text : `${text.slice(0, Math.max(most - 1, 1))}…`;
    context.fillText(shown, from + 4, middle + 0.5);
  }

  /** A mark for each record, one at most for each pixel. */
  function marks(context, run, positions, span, width, top, height, colour) {
    const { x } = scale(span, width);
    let drawn = -1;
    for (const at of positions) {
      const t = run.t[at];
      if (t < span.begin || t > span.end) continue;
      const pixel = Math.round(x(t));
      const isBad = run.columns.tone[at] >= 2;
      if (pixel === drawn && !isBad) continue;
      drawn = pixel;
      context.fillStyle = isBad ? colour.warning : colour.normal;
      context.fillRect(pixel, top + 4, 1.5, height - 8);
    }
  }

  return { colours, sized, scale, axis, grid, bands, marks, NAMES };
})();
