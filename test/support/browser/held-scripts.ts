import type { Page } from 'playwright-core';

/** Resolves when the browser has painted the page. */
const PAINTED = `new Promise((resolve) => {
  const look = () =>
    performance.getEntriesByName('first-contentful-paint').length > 0 ? resolve() : requestAnimationFrame(look);
  look();
})`;

/** Scripts that block the painting of the page, by its markup. */
const BLOCKING = /\/(?:times|status-page)\.[^/]*\.js$/;

/** Delays the scripts of the page from now on until it was painted, as on a slow connection. */
export async function holdScripts(page: Page): Promise<void> {
  await page.route(
    (url) => url.pathname.endsWith('.js') && !BLOCKING.test(url.pathname),
    async (route) => {
      await page.evaluate(PAINTED);
      await route.continue();
    },
  );
}
