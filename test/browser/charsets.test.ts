import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DESK, skipsBrowser, TestBrowser } from '../support/browser.ts';
import { CHARSET_CASES } from '../support/charset-cases.ts';

/** Chromium shows a text in an unknown charset as windows-1252, the probe reads it as UTF-8 and says so. */
const SHOWN_ALIKE = CHARSET_CASES.filter(({ unknown }) => unknown === undefined);

/** `decodeBody` of the agent reads the same cases. */
describe.skipIf(skipsBrowser)('Chromium shows what the HTTP probe compares', () => {
  let server: Server;
  let browser: TestBrowser;
  beforeAll(async () => {
    server = createServer((request, response) => {
      const found = SHOWN_ALIKE[Number(request.url?.slice(1))];
      if (found?.type !== undefined) response.setHeader('Content-Type', found.type);
      response.end(found?.bytes);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    browser = await TestBrowser.launch();
  });
  afterAll(async () => {
    await browser?.close();
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });

  test('in every charset', async () => {
    const visitor = await browser.visitor(DESK);
    const page = await visitor.newPage();
    const shown: Record<string, string> = {};
    for (const [index, { name }] of SHOWN_ALIKE.entries()) {
      await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/${index}`);
      shown[name] = await page.evaluate('document.documentElement.textContent');
    }
    const expected = SHOWN_ALIKE.map(({ name, text }) => [
      name,
      expect.stringContaining(text.replace('</a>', '')),
    ]);
    expect(shown).toEqual(Object.fromEntries(expected));
    await visitor.close();
  });
});
