/*
 * Keeps an open page up to date. When the service reports a change, the page is
 * read again, and its elements with `data-live` are replaced. Only a visible page
 * listens for changes, because a browser opens only a few connections to one host.
 */

/** Time after which a refused stream is requested again, ms. */
const AGAIN_MS = 15_000;

/** @type {EventSource | null} */
let source = null;
let again = 0;
let isReading = false;
/** Whether a change happened that the page may not show yet. */
let isOld = false;

function listen() {
  clearTimeout(again);
  if (document.visibilityState === 'hidden') {
    source?.close();
    source = null;
    return;
  }
  if (source !== null) return;
  source = new EventSource('/events');
  source.addEventListener('change', () => void refresh());
  // The stream does not report changes that happened between the rendering
  // of the page and this event, or while the stream was interrupted.
  source.addEventListener('open', () => void refresh());
  source.addEventListener('error', goOn);
}

/**
 * Reads the page again, and opens another stream later, if the browser has given up. The browser
 * itself reopens an interrupted stream. It gives up after any answer that is no event stream: a
 * proxy's error while the service is starting, or a refusal because too many pages listen.
 */
function goOn() {
  if (source?.readyState !== EventSource.CLOSED) return;
  source = null;
  again = setTimeout(listen, AGAIN_MS);
  void refresh();
}

async function refresh() {
  isOld = true;
  if (isReading) return;
  isReading = true;
  while (isOld) {
    // A change during the read may be missing in the answer, and sets `isOld` again.
    isOld = false;
    await read();
  }
  isReading = false;
}

async function read() {
  try {
    const response = await fetch(location.href, { headers: { accept: 'text/html' } });
    // If the session has ended, or the page's object was removed, the old page is more useful than none.
    if (response.ok && !response.redirected) replace(await response.text());
  } catch {
    // The service does not answer. When it answers again, the
    // stream is opened again, and its event starts a read.
  }
}

/** @param {string} text */
function replace(text) {
  const next = new DOMParser().parseFromString(text, 'text/html');
  for (const element of document.querySelectorAll('[data-live][id]')) {
    const fresh = next.getElementById(element.id);
    if (fresh === null || fresh.innerHTML === element.innerHTML) continue;
    // An element with open details or a ticked box stays as it is, because the visitor is at work in it.
    if (element.querySelector('details[open], input:checked') !== null) continue;
    const focused = document.activeElement;
    const focusedId = focused !== null && element.contains(focused) ? focused.id : '';
    element.replaceChildren(...fresh.childNodes);
    if (focusedId !== '') document.getElementById(focusedId)?.focus();
  }
  document.dispatchEvent(new Event('svc:content'));
}

document.addEventListener('visibilitychange', listen);
listen();
