import type { BrowserContext, Page } from 'playwright-core';
import type { RunningApi } from './api.ts';

/** Logs a visitor in with the operator's token, by the login form, and opens a page of the dashboard. */
export async function openDashboard(
  api: Pick<RunningApi, 'url' | 'operator'>,
  visitor: BrowserContext,
  path = '/',
): Promise<Page> {
  const page = await visitor.newPage();
  await page.goto(`${api.url}/login?next=${encodeURIComponent(path)}`);
  await page.getByLabel('API token').fill(api.operator);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.waitForURL(`${api.url}${path}`);
  return page;
}
