/*
 * Shows the values of a chart under the pointer, or at the column that the arrow keys choose. The script
 * reads the values from the chart's own table. The chart is complete without the script: the legend has the
 * values of the range, and the table has all values.
 */

/** @param {HTMLElement} chart */
function tellValues(chart) {
  const plot = chart.querySelector('.chart-plot');
  const note = chart.querySelector('.chart-note');
  // The newest row comes first.
  const rows = [...chart.querySelectorAll('tbody tr')].reverse();
  if (!(plot instanceof HTMLElement) || note === null || rows.length === 0) return;
  const titles = [...chart.querySelectorAll('thead th')].map((title) => title.textContent ?? '');
  const restingNote = note.textContent;

  const cursor = document.createElement('div');
  cursor.className = 'chart-cursor';
  cursor.hidden = true;
  const scrubber = document.createElement('input');
  scrubber.type = 'range';
  scrubber.className = 'chart-scrubber';
  scrubber.max = String(rows.length - 1);
  scrubber.value = scrubber.max;
  scrubber.setAttribute('aria-label', `${chart.dataset.chart}: time whose values are told`);
  plot.append(cursor, scrubber);

  /** @param {number} place */
  function textAt(place) {
    const cells = [...(rows[place]?.children ?? [])].map((cell) => cell.textContent ?? '');
    return cells.map((cell, index) => (index === 0 ? cell : `${titles[index]} ${cell}`)).join(' · ');
  }

  /** @param {number} place */
  function show(place) {
    const text = textAt(place);
    scrubber.value = String(place);
    scrubber.setAttribute('aria-valuetext', text);
    if (note !== null) note.textContent = text;
    cursor.style.left = `${((place + 0.5) / rows.length) * 100}%`;
    cursor.hidden = false;
  }

  function rest() {
    if (note !== null) note.textContent = restingNote;
    cursor.hidden = true;
  }

  /** @param {PointerEvent} event */
  function follow(event) {
    const { left, width } = scrubber.getBoundingClientRect();
    const place = Math.floor(((event.clientX - left) / width) * rows.length);
    show(Math.min(rows.length - 1, Math.max(0, place)));
  }

  scrubber.setAttribute('aria-valuetext', textAt(rows.length - 1));
  scrubber.addEventListener('pointermove', follow);
  scrubber.addEventListener('pointerdown', follow);
  scrubber.addEventListener('pointerleave', rest);
  scrubber.addEventListener('input', () => show(Number(scrubber.value)));
  scrubber.addEventListener('blur', rest);
}

for (const chart of document.querySelectorAll('[data-chart]')) {
  if (chart instanceof HTMLElement) tellValues(chart);
}
