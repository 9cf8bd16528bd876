/*
 * Notes what moves in a page that nobody touched. It runs in each document before the scripts of the page. Chromium says
 * itself which shifts followed an input or another size of the window: those do not count.
 */
{
  /** @type {string[]} */
  const shifts = [];
  const observer = new PerformanceObserver((list) => note(list.getEntries()));
  observer.observe({ type: 'layout-shift', buffered: true });

  /** @param {PerformanceEntryList} entries */
  function note(entries) {
    for (const entry of entries) {
      if (Reflect.get(entry, 'hadRecentInput') === true) continue;
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
