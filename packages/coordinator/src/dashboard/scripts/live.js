/*
 * Keeps a page right while it is open: when the service tells that something has changed, the page is read again, and
 * the elements that say `data-live` are replaced. Only a page that is seen listens, because a browser opens few
 * connections to one host.
 */

/** Time after which a stream that was refused is asked for again, ms. */
const AGAIN_MS = 15_000;

/** @type {EventSource | null} */
let source = null;
let again = 0;
let isReading = false;
/** Whether something has changed that the page may not show. */
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
  // Nobody has listened since the page was made, or while the stream was broken off.
  source.addEventListener('open', () => void refresh());
  source.addEventListener('error', goOn);
}

/**
 * A browser opens a stream again that breaks off. It gives up where it gets another answer: a proxy says that the
 * service is starting, or too many listen already.
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
    // What changes while the page is read may be missing in it.
    isOld = false;
    await read();
  }
  isReading = false;
}

async function read() {
  try {
    const response = await fetch(location.href, { headers: { accept: 'text/html' } });
    // The session has ended, or the object of the page is gone: the page as it is says more than nothing.
    if (response.ok && !response.redirected) replace(await response.text());
  } catch {
    // The service does not answer. The next event comes when it does.
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
