/*
 * Notes what moves in a page that nobody touched. It runs in each document before the scripts of the page. Chromium says
 * itself which shifts came within half a second of an input or of another size of the window: those do not count. On a busy
 * machine the frame that follows an input comes later, and does not count either.
 */
{
  /** @type {string[]} */
  const shifts = [];
  /** When the frame after the last input was shown; Infinity: it is not there yet. */
  let touchedUntil = 0;
  /** @type {Event | null} */
  let lastInput = null;
  for (const type of ['pointerdown', 'pointerup', 'keydown', 'click', 'input', 'change'])
    addEventListener(type, noteInput, { capture: true, passive: true });
  const observer = new PerformanceObserver((list) => note(list.getEntries()));
  observer.observe({ type: 'layout-shift', buffered: true });

  /** @param {Event} event */
  function noteInput(event) {
    lastInput = event;
    touchedUntil = Number.POSITIVE_INFINITY;
    requestAnimationFrame(() =>
      requestAnimationFrame((now) => {
        if (lastInput === event) touchedUntil = now;
      }),
    );
  }

  /** @param {PerformanceEntryList} entries */
  function note(entries) {
    for (const entry of entries) {
      if (Reflect.get(entry, 'hadRecentInput') === true || entry.startTime < touchedUntil) continue;
      /** @type {{ node: Node | null }[]} */
      const sources = Reflect.get(entry, 'sources');
      const score = Number(Reflect.get(entry, 'value')).toFixed(4);
      shifts.push(`${score}: ${sources.map(({ node }) => textOf(node)).join(', ')}`);
    }
  }

  /** @param {Node | null} node */
  function textOf(node) {
    if (node === null) return 'an element that is gone';
    return (node instanceof Element ? node.outerHTML : (node.textContent ?? '')).slice(0, 120);
  }

  /** The shifts since the last call. Those of the frame that is shown next are among them. */
  Reflect.set(globalThis, 'takeShifts', async () => {
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    note(observer.takeRecords());
    return shifts.splice(0);
  });
}
