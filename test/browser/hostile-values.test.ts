/** Hostile values in every field that a page shows. Each must appear as plain text. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../support/api.ts';
import { overflowOf } from '../support/browser/page-problems.ts';
import { type BrowserVisitor, skipsBrowser, TestBrowser } from '../support/browser.ts';
import { openDashboard } from '../support/dashboard.ts';

const MARKUP = `"'><img src=x onerror=called()><script>called()</script><svg/onload=called()>`;
/** A word that is wider than every window. */
const WORD = 'W'.repeat(250);
const HOUR_MS = 3_600_000;

describe.skipIf(skipsBrowser)('hostile values', () => {
  let api: RunningApi;
  let browser: TestBrowser;
  let visitor: BrowserVisitor;
  let page: Page;
  const ids = new Map<string, string>();
  /** Attempts of scripts, and violations of the content policy. */
  const tried: string[] = [];

  beforeAll(async () => {
    api = await startApi();
    for (const value of [MARKUP, WORD]) await declareWith(value);
    browser = await TestBrowser.launch();
    visitor = await browser.visitor({ width: 320, theme: 'light', hasScript: true });
    await visitor.context.exposeFunction('called', () => tried.push('a script ran'));
    await visitor.context.addInitScript(() => {
      Reflect.get(globalThis, 'addEventListener')(
        'securitypolicyviolation',
        ({ violatedDirective }: { violatedDirective: string }) =>
          console.error(`refused ${violatedDirective}`),
      );
    });
    page = await openDashboard(api, visitor);
    page.on('console', (message) => {
      if (message.text().startsWith('refused ')) tried.push(message.text());
    });
    page.on('dialog', (dialog) => {
      tried.push('a dialog');
      void dialog.dismiss();
    });
  });
  afterAll(async () => {
    await browser?.close();
    await api?.dispose();
  });

  async function create(path: string, body: object): Promise<string> {
    const { status, body: answer } = await api.call('POST', path, body);
    expect(status, JSON.stringify(answer)).toBe(201);
    return (answer as { id: string }).id;
  }

  /** Declares an object of each kind, whose texts contain the value and are long. */
  async function declareWith(value: string): Promise<void> {
    const text = `${value} `.repeat(3);
    const suffix = value === WORD ? 'word' : 'markup';
    const monitor = await create('/v1/monitors', {
      ...{ type: 'http', name: value, description: text, url: `https://example.com/${WORD}?${suffix}` },
      ...{ periodicity: '1m', active: true, public: true },
    });
    const shown = await create('/v1/status-pages', {
      ...{
        title: value,
        slug: suffix,
        description: text,
        homepage_url: 'https://example.com/%22%3E%3Cscript%3E',
      },
    });
    const group = await create(`/v1/status-pages/${shown}/component-groups`, { name: value });
    const component = await create(`/v1/status-pages/${shown}/components`, {
      ...{ type: 'monitor', monitor_id: monitor, group_id: group, description: text },
    });
    await create(`/v1/status-pages/${shown}/components`, { type: 'static', name: value, description: text });
    const incident = await create('/v1/incidents', {
      ...{ title: value, impact: 'partial_outage', page_ids: [shown], state: 'investigating' },
      ...{ text, component_ids: [component] },
    });
    const at = (ms: number) => new Date(api.clock.wall() + ms).toISOString();
    const window = await create('/v1/maintenance-windows', {
      ...{ title: value, text, starts_at: at(HOUR_MS), ends_at: at(2 * HOUR_MS) },
      ...{ monitor_ids: [monitor], page_ids: [shown], component_ids: [component] },
    });
    const channel = await create('/v1/notifications', {
      ...{ name: value, provider_type: 'webhook', webhook: { endpoint: `http://a.test/${WORD}` } },
      monitor_ids: [monitor],
    });
    await create('/v1/tokens', { name: value.slice(0, 100), scope: 'read' });
    for (const [kind, id] of Object.entries({
      monitor,
      shown,
      group,
      component,
      incident,
      window,
      channel,
    })) {
      ids.set(`${suffix}-${kind}`, id);
    }
  }

  test.each([
    '/status/{suffix}',
    '/status/{suffix}?lang=de',
    '/status/{suffix}/days/{component}',
    '/',
    '/monitors/{monitor}',
    '/monitors/{monitor}/results',
    '/monitors/{monitor}/what-if',
    '/monitors/{monitor}/edit',
    '/monitors/{monitor}/delete',
    '/channels',
    '/channels/{channel}',
    '/channels/{channel}/edit',
    '/channels/{channel}/delete',
    '/pages',
    '/pages/{shown}',
    '/pages/{shown}/edit',
    '/pages/{shown}/preview',
    '/pages/{shown}/components/{component}',
    '/pages/{shown}/groups/{group}',
    '/pages/{shown}/delete',
    '/incidents',
    '/incidents/new',
    '/incidents/{incident}',
    '/incidents/{incident}/edit',
    '/incidents/{incident}/updates/{incident}',
    '/maintenance',
    '/maintenance/{window}',
    '/maintenance/{window}/edit',
    '/maintenance/new',
    '/tokens',
    '/audit',
  ])('%s shows them as texts, within the narrowest window', async (pattern) => {
    for (const suffix of ['markup', 'word']) {
      const path = pattern.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
        name === 'suffix' ? suffix : (ids.get(`${suffix}-${name}`) ?? name),
      );
      const answer = await page.goto(`${api.url}${path}`);
      expect(answer?.status(), path).toBe(200);
      expect(await overflowOf(page), path).toEqual([]);
      expect(await page.locator('img[src="x"], script:not([src])').count(), path).toBe(0);
    }
    expect(tried).toEqual([]);
  });
});
