/**
 * `npm run screenshots`: takes the pictures of the documentation again, under `docs/images/`. It starts the API and the
 * pages over a throw-away database with a sample company, at a fixed time. It needs Chromium.
 *
 * `npm run screenshots -- <folder>` writes them elsewhere.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DAY_MS, HOUR_MS } from '@svc/coordinator/verdict/summary-range.ts';
import type { Page } from 'playwright-core';
import { type RunningApi, startApi } from '../support/api.ts';
import { type BrowserVisitor, DESK, TestBrowser, type View } from '../support/browser.ts';
import { openDashboard } from '../support/dashboard.ts';
import { addSampleCompany, type SampleCompany } from './sample-company.ts';

/** Maximum number of bytes of a picture: people load several with a page of the documentation. */
const LARGEST = 150_000;

type Picture = {
  /** Of the file, without its ending. */
  readonly name: string;
  readonly path: string;
  readonly isPublic: boolean;
  readonly view: View;
  /** Of the picture, CSS pixels; a shorter page is shown whole. */
  readonly height: number;
};

function picturesOf({ monitorPath, statusPath }: SampleCompany): Picture[] {
  const status = { path: statusPath, isPublic: true };
  const dashboard = { isPublic: false, view: DESK };
  const phone: View = { ...DESK, width: 320 };
  return [
    { name: 'status-page', ...status, view: DESK, height: 1_080 },
    { name: 'status-page-dark', ...status, view: { ...DESK, theme: 'dark' }, height: 1_080 },
    { name: 'status-page-phone', ...status, view: phone, height: 1_080 },
    { name: 'dashboard', ...dashboard, path: '/', height: 780 },
    { name: 'dashboard-dark', ...dashboard, view: { ...DESK, theme: 'dark' }, path: '/', height: 780 },
    { name: 'monitor', ...dashboard, path: monitorPath, height: 1_080 },
    { name: 'form', ...dashboard, path: `${monitorPath}/edit`, height: 1_200 },
    { name: 'incidents', ...dashboard, path: '/incidents', height: 700 },
  ];
}

const folder = resolve(process.argv[2] ?? fileURLToPath(new URL('../../docs/images', import.meta.url)));
await mkdir(folder, { recursive: true });
const api = await startApi();
try {
  // An afternoon, with more than 90 days since the workspace was made.
  api.clock.advance(200 * DAY_MS + 13.75 * HOUR_MS);
  const company = await addSampleCompany(api);
  const browser = await TestBrowser.launch();
  try {
    for (const picture of picturesOf(company)) await take(browser, api, picture);
  } finally {
    await browser.close();
  }
} finally {
  await api.dispose();
}

async function take(browser: TestBrowser, running: RunningApi, picture: Picture): Promise<void> {
  const visitor = await browser.visitor(picture.view);
  // Ages are reckoned in the browser too.
  await visitor.context.clock.setFixedTime(running.clock.wall());
  const page = await opened(visitor, running, picture);
  await page.evaluate('document.fonts.ready');
  const tall = Number(await page.evaluate('document.documentElement.scrollHeight'));
  await page.setViewportSize({ width: picture.view.width, height: Math.min(tall, picture.height) });
  const bytes = await page.screenshot({ animations: 'disabled', caret: 'hide' });
  if (bytes.length > LARGEST)
    throw new Error(`${picture.name} has ${bytes.length} bytes, more than ${LARGEST}`);
  await writeFile(join(folder, `${picture.name}.png`), bytes);
  console.log(`${picture.name}.png  ${Math.ceil(bytes.length / 1_000)} kB`);
  await visitor.close();
}

async function opened(
  visitor: BrowserVisitor,
  running: RunningApi,
  { path, isPublic }: Picture,
): Promise<Page> {
  if (!isPublic) return openDashboard(running, visitor, path);
  const page = await visitor.newPage();
  await page.goto(`${running.url}${path}`);
  return page;
}
