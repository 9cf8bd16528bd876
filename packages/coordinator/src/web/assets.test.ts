import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { asset, createAssetSite } from './assets.ts';
import type { Visit } from './site.ts';

const STYLE = asset('base.css', 'body { color: red }');
const site = createAssetSite([STYLE]);

function visit(path: string, headers: Record<string, string> = {}, method = 'GET'): Visit {
  const url = new URL(path, 'http://other.example');
  const request = new Request(url, { headers });
  return {
    request,
    url,
    method,
    host: url.host,
    isOwnHost: false,
    isSecure: false,
    peer: null,
    requestId: 'x',
  };
}

test('the path has a hash of the content, so the file is kept for ever', async () => {
  expect(STYLE.path).toMatch(/^\/assets\/base\.[0-9a-f]{10}\.css$/);
  expect(asset('base.css', 'other').path).not.toBe(STYLE.path);
  const response = await site.answer(visit(STYLE.path));
  expect(response?.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  expect(response?.headers.get('content-type')).toBe('text/css; charset=utf-8');
  expect(await response?.text()).toBe(STYLE.text);
});

test('it is compressed for clients that accept it', async () => {
  const response = await site.answer(visit(STYLE.path, { 'accept-encoding': 'br, gzip' }));
  expect(response?.headers.get('content-encoding')).toBe('gzip');
  const body = Buffer.from((await response?.arrayBuffer()) ?? new ArrayBuffer());
  expect(gunzipSync(body).toString()).toBe(STYLE.text);
});

test.each(['/assets/base.css', '/assets/../base.css', '/assets/', '/assets/base.0000000000.css', '/'])(
  'there is nothing at %s',
  (path) => {
    expect(site.answer(visit(path))).toBeNull();
  },
);

test('an asset takes no other method', () => {
  expect(site.answer(visit(STYLE.path, {}, 'POST'))).toBeNull();
});
