import type { Page } from 'playwright-core';
import type { RunningApi } from './api.ts';
import type { BrowserVisitor } from './browser.ts';
import { Visitor } from './visited-pages.ts';

type Served = Pick<RunningApi, 'url' | 'operator'>;

/** Opens a page of the dashboard in a session of the operator's token. The login itself has its own tests. */
export async function openDashboard(api: Served, visitor: BrowserVisitor, path = '/'): Promise<Page> {
  const cookies = [...(await sessionOf(api, visitor))];
  await visitor.context.addCookies(cookies.map(([name, value]) => ({ name, value, url: api.url })));
  const page = await visitor.newPage();
  await page.goto(`${api.url}${path}`);
  return page;
}

async function sessionOf(
  { url, operator }: Served,
  { sessions }: BrowserVisitor,
): Promise<ReadonlyMap<string, string>> {
  const key = `${url} ${operator}`;
  const known = sessions.get(key);
  if (known !== undefined) return known;
  const client = new Visitor(url, {});
  const { status, text } = await client.submit('/login', { token: operator });
  if (status !== 303) throw new Error(`the login was answered ${status}: ${text}`);
  sessions.set(key, client.cookies);
  return client.cookies;
}
