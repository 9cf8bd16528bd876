/** Paths below a page that a visitor may come back to: those of plain words. */
const BELOW = /^(?:\/[A-Za-z0-9_-]+(?:\.[A-Za-z0-9]+)?){1,6}$/;

/**
 * Where a visitor goes once signed in: the path that it asked for at first, where that lies below the page, otherwise
 * the page. It is always a path of this host.
 *
 * @param pagePath `/status/main`, or '' on a domain of its own
 * @param asked path below the page, which anybody may have written
 */
export function landing(pagePath: string, asked: string): string {
  if (BELOW.test(asked) && !asked.startsWith('/access')) return `${pagePath}${asked}`;
  return pagePath === '' ? '/' : pagePath;
}
