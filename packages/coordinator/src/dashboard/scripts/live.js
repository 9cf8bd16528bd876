/*
 * Keeps a page right while it is open: when the service tells that something has changed, the page is read again, and
 * the elements that say `data-live` are replaced. Only a page that is seen listens, because a browser opens few
 * connections to one host.
 */

/** @type {EventSource | null} */
let source = null;
let isReading = false;
let isStale = false;

function listen() {
  if (document.visibilityState === 'hidden') {
    source?.close();
    source = null;
    return;
  }
  if (source !== null) return;
  source = new EventSource('/events');
  source.addEventListener('change', () => void refresh());
  // What happened while nobody listened.
  if (isStale) void refresh();
  isStale = true;
}

async function refresh() {
  if (isReading) return;
  isReading = true;
  try {
    const response = await fetch(location.href, { headers: { accept: 'text/html' } });
    // The session has ended, or the object of the page is gone: the page as it is says more than nothing.
    if (response.ok && !response.redirected) replace(await response.text());
  } catch {
    // The service does not answer. The next event comes when it does.
  } finally {
    isReading = false;
  }
}

/** @param {string} text */
function replace(text) {
  const next = new DOMParser().parseFromString(text, 'text/html');
  for (const element of document.querySelectorAll('[data-live][id]')) {
    const fresh = next.getElementById(element.id);
    if (fresh === null || fresh.innerHTML === element.innerHTML) continue;
    // What somebody has opened is being read.
    if (element.querySelector('details[open]') !== null) continue;
    const focused = document.activeElement;
    const focusedId = focused !== null && element.contains(focused) ? focused.id : '';
    element.replaceChildren(...fresh.childNodes);
    if (focusedId !== '') document.getElementById(focusedId)?.focus();
  }
  document.dispatchEvent(new Event('svc:content'));
}

document.addEventListener('visibilitychange', listen);
listen();
