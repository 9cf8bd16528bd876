import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createEgressGuard } from '@svc/shared/egress.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type ConfiguredStore,
  configuredStore,
  silentLog,
} from '../../../../../test/support/configured-store.ts';
import { createResource, replaceResource } from '../../../../../test/support/declared-resources.ts';
import { rowsOf } from '../../../../../test/support/store-rows.ts';
import { createHttpPost } from '../../outgoing/http-post.ts';
import { iconImage } from '../../store/pages/page-icons.ts';
import { IconFetches, imageTypeOf } from './icon-fetches.ts';

const PNG = Buffer.from('\x89PNG\r\n\x1a\nan image', 'latin1');
const MINUTE_MS = 60_000;
const DAY_MS = 1_440 * MINUTE_MS;

let parts: ConfiguredStore;
let server: Server;
let requests: IncomingMessage[];
let answer: (request: IncomingMessage, response: ServerResponse) => void;
let url: string;
let pageId: number;
let fetches: IconFetches;

beforeEach(async () => {
  parts = await configuredStore();
  requests = [];
  answer = (_request, response) => response.setHeader('etag', '"v1"').end(PNG);
  server = createServer((request, response) => {
    requests.push(request);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/icon.png`;
  pageId = await createResource(parts, 'svc_status_page', page());
});
afterEach(async () => {
  await fetches?.stop();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await parts.dispose();
});

const page = (icon = url) => ({ title: 'Example', slug: 'example', icon });

async function begin(allow: readonly string[] = ['127.0.0.1']): Promise<void> {
  const { store, clock } = parts;
  const guard = createEgressGuard({ base: 'channel', deny: [], allow: [...allow] });
  fetches = new IconFetches({ store, clock, log: silentLog, request: createHttpPost({ clock, guard }) });
  fetches.start();
  await fetches.roundEnded();
}

async function passes(ms: number): Promise<void> {
  parts.clock.advance(ms);
  await fetches.roundEnded();
}

const image = () => iconImage(parts.store, pageId, url);
const row = async () => (await rowsOf(parts.store, 'page_icons'))[0];

test('an icon is fetched at once, and again after a day with its validator', async () => {
  await begin();
  expect(await image()).toMatchObject({ contentType: 'image/png' });
  await passes(MINUTE_MS);
  expect(requests).toHaveLength(1);
  answer = (_request, response) => response.writeHead(304).end();
  await passes(DAY_MS);
  expect(requests[1]?.headers['if-none-match']).toBe('"v1"');
  expect(Buffer.from((await image())?.content ?? [])).toEqual(PNG);
  expect(await row()).toMatchObject({ problem: null, failures: 0 });
});

test.each<[string, (response: ServerResponse) => void, RegExp]>([
  ['a server that answers with an error', (response) => response.writeHead(500).end(), /status 500/],
  ['one that sends elsewhere', (response) => response.writeHead(302, { location: '/x' }).end(), /status 302/],
  ['a page', (response) => response.end('<!doctype html><p>Hello</p>'), /no PNG, JPEG/],
  ['too many bytes', (response) => response.end(Buffer.concat([PNG, Buffer.alloc(100_000)])), /100 KB/],
  ['a broken connection', (response) => response.destroy(), /connection failed/],
])('%s leaves the last image, and is tried again later and later', async (_name, failing, problem) => {
  await begin();
  answer = (_request, response) => failing(response);
  await passes(DAY_MS);
  expect((await row())?.problem).toMatch(problem);
  expect(await image()).not.toBeNull();
  for (const [ms, count] of [
    [9 * MINUTE_MS, 2],
    [MINUTE_MS, 3],
    [19 * MINUTE_MS, 3],
    [MINUTE_MS, 4],
  ] as const) {
    await passes(ms);
    expect(requests).toHaveLength(count);
  }
  answer = (_request, response) => response.end(PNG);
  await passes(DAY_MS);
  expect(await row()).toMatchObject({ problem: null, failures: 0 });
});

test('another address is another icon', async () => {
  await begin();
  await replaceResource(parts, 'svc_status_page', pageId, page(`${url}?v=2`));
  answer = (_request, response) => response.writeHead(404).end();
  await passes(MINUTE_MS);
  expect(await image()).toBeNull();
  expect(await row()).toMatchObject({ url: `${url}?v=2`, content: null });
});

test('internal addresses are not contacted unless the operator allows them', async () => {
  await begin([]);
  expect(requests).toEqual([]);
  expect((await row())?.problem).toContain('SVC_CHANNEL_EGRESS_ALLOW');
});

test.each([
  ['a PNG', Buffer.from('\x89PNG\r\n\x1a\nrest', 'latin1'), 'image/png'],
  ['a JPEG', Buffer.from('\xff\xd8\xff\xe0', 'latin1'), 'image/jpeg'],
  ['a GIF', Buffer.from('GIF89a'), 'image/gif'],
  ['a WebP', Buffer.from('RIFF\x00\x01\x00\x00WEBPVP8 ', 'latin1'), 'image/webp'],
  ['an ICO', Buffer.from([0, 0, 1, 0, 1, 0]), 'image/x-icon'],
  ['an SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 'image/svg+xml'],
  [
    'an SVG behind a declaration',
    Buffer.from('<?xml version="1.0"?>\n<!-- a comment -->\n<svg width="1">'),
    'image/svg+xml',
  ],
  ['a page', Buffer.from('<!doctype html><svg>'), null],
  ['a page that begins as a comment', Buffer.from('<!-- <svg> --><script>alert(1)</script>'), null],
  ['nothing', Buffer.alloc(0), null],
])('%s is told by its first bytes', (_name, bytes, type) => {
  expect(imageTypeOf(bytes)).toBe(type);
});
