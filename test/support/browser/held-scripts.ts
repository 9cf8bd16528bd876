import type { Page } from 'playwright-core';

/** From now on, the scripts of the page arrive after it was painted, as on a slow line. */
export async function holdScripts(page: Page): Promise<void> {
  await page.route('**/*.js', async (route) => {
    await page.waitForFunction("performance.getEntriesByName('first-contentful-paint').length > 0");
    await route.continue();
  });
}
