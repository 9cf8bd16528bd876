/*
 * The controls of a page that are seen, but that the pointer does not reach: something covers them, or they lie outside of
 * what can be scrolled to. An expression, whose value is a list of their markup.
 */
(() => {
  const CONTROLS =
    'a[href], button:enabled, input:enabled:not([type="hidden"]), select:enabled, textarea:enabled, summary';
  // What lies behind an open dialog cannot be reached, as is meant.
  const around = document.querySelector('dialog:modal') ?? document;
  const before = { x: scrollX, y: scrollY };
  const unreachable = [...around.querySelectorAll(CONTROLS)].filter((control) => !isReachable(control));
  scrollTo(before.x, before.y);
  return unreachable.map((control) => control.outerHTML.slice(0, 160));

  /** @param {Element} control */
  function isReachable(control) {
    // The link to the content is shown when it has the focus. A hidden button takes the Enter key of a form.
    if (control.matches('.skip-link, [aria-hidden="true"]')) return true;
    if (!control.checkVisibility({ visibilityProperty: true })) return true;
    control.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
    const [box] = control.getClientRects();
    if (box === undefined) return false;
    const hit = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    const labels = control instanceof HTMLInputElement ? [...(control.labels ?? [])] : [];
    return [control, ...labels].some((element) => element.contains(hit));
  }
})();
