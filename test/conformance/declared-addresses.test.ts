import type { SendResult } from '@svc/coordinator/alerts/channel.ts';
import { urlRules } from '@svc/coordinator/alerts/declared-urls.ts';
import { CHANNELS } from '@svc/coordinator/alerts/registry.ts';
import { channelProblems, createSender, type StoredChannel } from '@svc/coordinator/alerts/sender.ts';
import { createHttpPost } from '@svc/coordinator/outgoing/http-post.ts';
import type { Resolve } from '@svc/coordinator/outgoing/names.ts';
import { CHANNEL_BLOCKS, CHANNEL_KINDS, type ChannelKind } from '@svc/shared/channels/settings.ts';
import type { Attributes } from '@svc/shared/resources/definition.ts';
import { Secret } from '@svc/shared/secret.ts';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../support/api.ts';
import { channelSettings } from '../support/channel-samples.ts';
import { FULL_ALERT, loopbackParts, loopbackSender, sendContext } from '../support/channel-sending.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { OPERATOR_VALUES } from '../support/operator-values.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';

/*
 * Attempts to make svc post to addresses that it must not reach. Each is refused for every kind whose address
 * users declare: when the channel is saved, or when its address is dialled. In this test chat kinds may post to
 * every host.
 */

const ADDRESSES = [
  // Loopback, in the forms that URL parsers and resolvers take.
  'http://127.0.0.1/',
  'http://127.1/',
  'http://127.0.0.1./',
  'http://127.255.255.254:8080/',
  'http://2130706433/',
  'http://0x7f000001/',
  'http://0x7f.0.0.1/',
  'http://0177.0.0.1/',
  'http://017700000001/',
  'http://%31%32%37.0.0.1/',
  'http://１２７.0.0.1/',
  'http://127。0。0。1/',
  'http://①②⑦.0.0.1/',
  'http://0.0.0.0/',
  'http://0/',
  'http://[::1]/',
  'http://[0:0:0:0:0:0:0:1]/',
  'http://[::]/',
  // The same as IPv6: mapped, compatible, translated, tunnelled.
  'http://[::ffff:127.0.0.1]/',
  'http://[::ffff:7f00:1]/',
  'http://[0:0:0:0:0:ffff:7f00:0001]/',
  'http://[::127.0.0.1]/',
  'http://[::ffff:0:127.0.0.1]/',
  'http://[::ffff:0:7f00:1]/',
  'http://[64:ff9b::127.0.0.1]/',
  'http://[64:ff9b::a9fe:a9fe]/',
  'http://[64:ff9b:1::7f00:1]/',
  'http://[2002:7f00:1::]/',
  'http://[2001:0:7f00:1::]/',
  // Private networks, and addresses where machines of providers find credentials.
  'https://10.0.0.1/',
  'https://172.16.0.1/',
  'https://172.31.255.255/',
  'https://192.168.0.1/',
  'https://100.64.0.1/',
  'http://169.254.169.254/latest/meta-data/',
  'http://169.254.170.2/',
  'http://[::ffff:169.254.169.254]/',
  'http://[::ffff:0:a9fe:a9fe]/',
  'http://100.100.100.200/',
  'http://192.0.0.192/',
  'http://168.63.129.16/',
  'http://[fd00:ec2::254]/',
  'http://[fc00::1]/',
  'http://[fe80::1]/',
  'http://[fec0::1]/',
  // What is nobody's.
  'http://192.0.2.1/',
  'http://198.18.0.1/',
  'http://198.51.100.1/',
  'http://203.0.113.1/',
  'http://224.0.0.1/',
  'http://240.0.0.1/',
  'http://255.255.255.255/',
  'http://[ff02::1]/',
  'http://[2001:db8::1]/',
  'http://[100::1]/',
  'http://[5f00::1]/',
  // A host that looks like another one.
  'http://hooks.slack.com@127.0.0.1/',
  'http://127.0.0.1#@hooks.slack.com/',
  'http://127.0.0.1?@hooks.slack.com/',
  'http://127.0.0.1\\@hooks.slack.com/',
  'http:127.0.0.1/',
  'http:\\\\127.0.0.1/',
  'http:///127.0.0.1/',
  // Other schemes.
  'file:///etc/passwd',
  'ftp://127.0.0.1/',
  'gopher://127.0.0.1:6379/_FLUSHALL',
  'unix:/var/run/docker.sock',
  'data:text/plain,x',
  'javascript:alert(1)',
  '//127.0.0.1/',
  // Names, which are judged by their addresses.
  'http://localhost/',
  'http://localhost./',
  'http://LOCALHOST:8080/',
  'http://sub.localhost/',
  'http://metadata.google.internal/',
  'http://127.0.0.1.nip.example/',
  'http://mapped.example/',
  'http://nat64.example/',
  'http://siit.example/',
  'http://6to4.example/',
  'http://private.example/',
  'http://several.example/',
] as const;

const NAMES: Readonly<Record<string, readonly string[]>> = {
  'metadata.google.internal': ['169.254.169.254'],
  '127.0.0.1.nip.example': ['127.0.0.1'],
  'mapped.example': ['::ffff:10.0.0.1'],
  'nat64.example': ['64:ff9b::a00:1'],
  'siit.example': ['::ffff:0:a00:1'],
  '6to4.example': ['2002:a00:1::1'],
  'private.example': ['10.0.0.1', 'fd00::1'],
  'several.example': ['192.168.0.1', '::1', '169.254.169.254'],
};

const resolve: Resolve = async (hostname) =>
  (NAMES[hostname] ?? ['127.0.0.1', '::1']).map((address) => ({
    address,
    family: address.includes(':') ? 6 : 4,
  }));

const URLS = urlRules({ channelEgressAllow: [], chatHosts: ['*'] });
const operator = OPERATOR_VALUES;
/** The parts of production, with names that resolve to the addresses that an attacker wants. */
const send = createSender(
  loopbackParts({
    urls: URLS,
    operator,
    post: createHttpPost({ clock: new FakeClock(), guard: URLS.guard, resolve }),
  }),
);

/** The setting of a kind that is an address, by its form; null: the kind has none. */
function addressOf(kind: ChannelKind): string | null {
  const attributes: Attributes = CHANNEL_BLOCKS[kind].attributes;
  const [found = null] = Object.keys(attributes).filter(
    (name) => attributes[name]?.value.form === 'http(s) URL',
  );
  return found;
}

/** The kinds whose address users declare. */
const KINDS = CHANNEL_KINDS.filter((kind) => CHANNELS[kind].send !== null && addressOf(kind) !== null);

function settingsOf(kind: ChannelKind, address: string): Record<string, unknown> {
  return { ...channelSettings(kind, 0), [addressOf(kind) ?? '']: address };
}

let api: RunningApi;
beforeAll(async () => {
  api = await startApi({ channelProblem: channelProblems({ operator, urls: URLS }) });
});
afterAll(() => api.dispose());

test('each kind with an address says which of its settings it is', () => {
  const said = Object.fromEntries(KINDS.map((kind) => [kind, CHANNELS[kind].declaredUrl?.attribute]));
  expect(said).toEqual(Object.fromEntries(KINDS.map((kind) => [kind, addressOf(kind)])));
  expect(KINDS.length).toBeGreaterThanOrEqual(5);
});

describe.each(KINDS)('%s', (kind) => {
  test.each(ADDRESSES)('%s', async (address) => {
    const body = { provider_type: kind, [kind]: settingsOf(kind, address) };
    const { status, body: answer } = await api.call('POST', '/v1/notifications', body);
    if (status === 422) {
      // At save.
      expect(JSON.stringify(answer)).toContain(`/${kind}/`);
      return;
    }
    expect(status).toBe(201);
    const settings = settingsOf(kind, address);
    const channel = { kind, settings: new Secret<object>(settings) } as StoredChannel;
    const result: SendResult = await send(channel, FULL_ALERT, sendContext());
    expect(result).toMatchObject({ outcome: 'retry', reason: 'unreachable' });
    expect(result).toHaveProperty('error', expect.stringContaining("denied by the operator's egress rules"));
  });
});

describe('a redirect', () => {
  let receiver: Receiver;
  let inside: Receiver;
  afterEach(() => Promise.all([receiver.close(), inside.close()]));

  test.each(KINDS)('is not followed by %s', async (kind) => {
    receiver = await startReceiver();
    inside = await startReceiver();
    receiver.answerWith((_request, response) =>
      response.writeHead(307, { location: `${inside.url}/` }).end(),
    );
    const settings = settingsOf(kind, `${receiver.url}/hook`);
    const channel = { kind, settings: new Secret<object>(settings) } as StoredChannel;
    expect(await loopbackSender(operator)(channel, FULL_ALERT, sendContext())).toMatchObject({
      outcome: 'retry',
    });
    expect(receiver.requests).toHaveLength(1);
    expect(inside.requests).toEqual([]);
  });
});
