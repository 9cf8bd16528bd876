import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../test/support/api.ts';
import { type Receiver, startReceiver } from '../../../../test/support/receiver.ts';

/* The slow work that people request is bounded for each object and for each workspace. */

let api: RunningApi;
let receiver: Receiver;
let held: (() => void)[] = [];

beforeAll(async () => {
  receiver = await startReceiver();
  receiver.answerWith((_request, response) => void held.push(() => response.end()));
  api = await startApi();
});
afterAll(async () => {
  for (const answer of held) answer();
  await api.dispose();
  await receiver.close();
});

async function channel(headers?: Record<string, string>): Promise<string> {
  const settings = { provider_type: 'webhook', webhook: { endpoint: `${receiver.url}/hook` } };
  const { body } = await api.call('POST', '/v1/notifications', settings, headers);
  return `/v1/notifications/${(body as { id: string }).id}/test`;
}

async function otherWorkspace(): Promise<Record<string, string>> {
  const workspace = await api.call('POST', '/v1/workspaces', { name: 'Theirs' });
  const { id: workspace_id } = workspace.body as { id: string };
  const made = await api.call('POST', '/v1/tokens', { name: 'w', scope: 'write', workspace_id });
  return { authorization: `Bearer ${(made.body as { token: string }).token}` };
}

describe('tests of channels', () => {
  test('two run at once for a channel, and eight for a workspace', async () => {
    const [first = '', ...more] = await Promise.all(Array.from({ length: 5 }, () => channel()));
    const running = [api.call('POST', first), api.call('POST', first)];
    await receiver.received(2);
    expect(await api.call('POST', first)).toMatchObject({
      status: 429,
      body: {
        type: 'urn:svc:problem:rate-limited',
        detail: expect.stringContaining('2 tests of the channel'),
      },
    });
    for (const path of more.slice(0, 3)) running.push(api.call('POST', path), api.call('POST', path));
    await receiver.received(8);
    const ninth = await api.call('POST', more[3] ?? '');
    expect(ninth).toMatchObject({
      status: 429,
      body: { detail: expect.stringContaining('8 tests of the channel or workspace') },
    });
    expect(ninth.headers.get('retry-after')).toBe('5');

    const theirs = await otherWorkspace();
    running.push(api.call('POST', await channel(theirs), undefined, theirs));
    await receiver.received(9);
    for (const answer of held) answer();
    held = [];
    for (const { status } of await Promise.all(running)) expect(status).toBe(200);

    const again = api.call('POST', first);
    await receiver.received(10);
    for (const answer of held) answer();
    expect((await again).status).toBe(200);
  });
});
