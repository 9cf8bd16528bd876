import type { Alert } from '@svc/shared/channels/alert.ts';
import type { ChannelSettings } from '@svc/shared/channels/settings.ts';
import { Secret } from '@svc/shared/secret.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FULL_ALERT, loopbackSender, sendContext } from '../../../../../test/support/channel-sending.ts';
import { type Receiver, startReceiver } from '../../../../../test/support/receiver.ts';
import type { StoredChannel } from '../sender.ts';

let receiver: Receiver;

beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(() => receiver.close());

const channelTo = (settings: ChannelSettings['webhook']): StoredChannel => ({
  kind: 'webhook',
  settings: new Secret(settings),
});

test.each([
  ['as Basic credentials', [], `Basic ${btoa('alerts:user-s3cret')}`],
  ['unless a header says otherwise', [{ key: 'AUTHORIZATION', value: 'Bearer mine' }], 'Bearer mine'],
])('user information goes out %s, and is not repeated', async (_, headers, authorization) => {
  receiver.answerWith((request, response) => {
    response.writeHead(500).end(`${JSON.stringify(request.headers)} alerts user-s3cret`);
  });
  const endpoint = receiver.url.replace('//', '//alerts:user%2Ds3cret@');
  const result = await loopbackSender()(channelTo({ endpoint, headers }), FULL_ALERT, sendContext());
  expect(receiver.requests[0]?.headers).toMatchObject({ authorization });
  expect(receiver.requests[0]?.headers.host).not.toContain('alerts');
  expect(result.outcome).toBe('retry');
  for (const secret of ['user-s3cret', 'user%2Ds3cret', btoa('alerts:user-s3cret')]) {
    expect(JSON.stringify(result)).not.toContain(secret);
  }
});

test.each([
  ['a value in the encoding that it was written in', '/hook?sig=Ab%2fCd%3d-9', 'Ab%2fCd%3d-9'],
  ['a value that is written with plus signs', '/hook?phrase=red+dog+sun', 'red+dog+sun'],
  ['a key that is the whole query', '/hook?0123abcd', '0123abcd'],
  ['a key without a value', '/hook?v=1&0123abcd', '0123abcd'],
  ['a key in the path, decoded', '/hook/T0%2d89%2dkey', 'T0-89-key'],
])('%s is not repeated', async (_, path, secret) => {
  const echo = (text: string) => `${text} ${decodeURIComponent(text)}`;
  receiver.answerWith((request, response) => response.writeHead(404).end(echo(request.path)));
  const endpoint = new URL(path, receiver.url).href;
  const result = await loopbackSender()(channelTo({ endpoint, headers: [] }), FULL_ALERT, sendContext());
  expect(receiver.requests[0]?.path).toBe(path);
  expect(result).toMatchObject({ outcome: 'retry', statusCode: 404 });
  for (const form of [secret, decodeURIComponent(secret)]) expect(JSON.stringify(result)).not.toContain(form);
});

test('optional members are left out when they do not apply; the headers are svc’s and the configured ones', async () => {
  const alert: Alert = { ...FULL_ALERT, status: 'recovered', test: true, closure: 'monitor-deleted' };
  delete alert.statusCode;
  delete alert.errorMessage;
  const settings = {
    endpoint: receiver.url,
    headers: [
      { key: 'Content-Type', value: 'application/vnd.example+json' },
      { key: 'X-Secret', value: 'abc' },
      { key: 'Content-Length', value: '3' },
      // Receivers recognise repetitions by svc's own header, so the settings cannot replace it.
      { key: 'Webhook-Id', value: 'always-the-same' },
      { key: 'Svc-Test', value: 'false' },
    ],
  };
  expect(await loopbackSender()(channelTo(settings), alert, sendContext())).toEqual({
    outcome: 'delivered',
    statusCode: 200,
  });
  const [request] = receiver.requests;
  expect(request?.text).toBe(
    JSON.stringify({
      monitor: { id: 12, name: FULL_ALERT.monitor.name, url: FULL_ALERT.monitor.url },
      cronTimestamp: FULL_ALERT.cronTimestamp,
      status: 'recovered',
      latency: 123.4,
    }),
  );
  expect(request?.headers).toMatchObject({
    'content-type': 'application/vnd.example+json',
    'x-secret': 'abc',
    'user-agent': 'svc',
    'webhook-id': 'c0ffee00-0000-4000-8000-000000000001',
    'webhook-timestamp': '1767225602',
    'svc-test': 'true',
    'content-length': String(Buffer.byteLength(request?.text ?? '')),
  });
});

test('an alert that is neither a test nor a reminder has no header that says so', async () => {
  const headers = [
    { key: 'svc-test', value: 'true' },
    { key: 'Svc-Reminder', value: '1' },
  ];
  await loopbackSender()(channelTo({ endpoint: receiver.url, headers }), FULL_ALERT, sendContext());
  expect(receiver.requests[0]?.headers).not.toHaveProperty('svc-test');
  expect(receiver.requests[0]?.headers).not.toHaveProperty('svc-reminder');
});

test('a reminder has the body of the alert that it repeats, and a header with its number', async () => {
  const settings = { endpoint: receiver.url, headers: null };
  await loopbackSender()(channelTo(settings), FULL_ALERT, sendContext());
  const reminder = { number: 3, lastsMs: 3_600_000 };
  await loopbackSender()(channelTo(settings), { ...FULL_ALERT, reminder }, sendContext());
  const [alert, repeated] = receiver.requests;
  expect(repeated?.text).toBe(alert?.text);
  expect(repeated?.headers).toMatchObject({ 'svc-reminder': '3' });
});
