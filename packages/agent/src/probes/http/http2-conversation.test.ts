import { expect, test } from 'vitest';
import { httpCheck } from '../../../../../test/support/http-check.ts';
import { firstHop } from './hop.ts';
import { http2RequestOf } from './http2-conversation.ts';
import { renderRequest } from './request.ts';

function requestOf(...[check]: Parameters<typeof httpCheck>) {
  const hop = firstHop(httpCheck(check));
  if (typeof hop === 'string') throw new Error(hop);
  const rendered = renderRequest(hop, 'svc/test');
  if ('problem' in rendered) throw new Error(rendered.problem);
  return http2RequestOf(rendered.text);
}

test('a request without anything', () => {
  expect(requestOf({ url: 'https://example.com:8443/a%20b?c=d#e' })).toEqual({
    fields: [
      ...[':method', 'GET', ':scheme', 'https', ':authority', 'example.com:8443', ':path', '/a%20b?c=d'],
      ...['user-agent', 'svc/test', 'accept', '*/*', 'accept-encoding', 'gzip, deflate, br, zstd'],
    ],
    body: '',
  });
});

test('configured headers in lower case and in their order, the body as it is', () => {
  const { fields, body } = requestOf({
    url: 'https://user:pass@example.com/',
    method: 'POST',
    body: 'a: b\r\n\r\ngrüße',
    headers: [
      { key: 'Host', value: 'other.example' },
      { key: 'X-Twice', value: 'one: 1' },
      { key: 'x-twice', value: 'grüße' },
      { key: 'Connection', value: 'close' },
    ],
  });
  expect(body).toBe('a: b\r\n\r\ngrüße');
  expect(fields.slice(0, 8)).toEqual([
    ...[':method', 'POST', ':scheme', 'https', ':authority', 'other.example', ':path', '/'],
  ]);
  const others = fields.slice(8).join('|');
  expect(others).toContain(`|authorization|Basic ${btoa('user:pass')}|x-twice|one: 1|x-twice|`);
  expect(others).toContain(Buffer.from('grüße').toString('latin1'));
  expect(others).toContain('|content-length|15');
  expect(others).not.toMatch(/\|(host|connection)\|/);
});
