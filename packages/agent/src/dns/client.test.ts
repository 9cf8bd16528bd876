import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import {
  a,
  type DnsHandler,
  type DnsRequest,
  DnsTestServer,
  encodeResponse,
  txt,
} from '../../../../test/support/dns-server.ts';
import { startLateTarget } from '../../../../test/support/late-reading.ts';
import { passAfter, underStoppedTime } from '../../../../test/support/stopped-time.ts';
import { DnsClient } from './client.ts';
import type { AskPolicy, DnsReply } from './open-question.ts';
import type { DnsQuestion } from './packet.ts';
import { parseServer } from './servers.ts';
import { SILENT_AFTER_MS } from './silence.ts';

const QUESTION: DnsQuestion = { name: 'example.com', type: 'A' };
const RECORDS = { records: [a('example.com', '192.0.2.1')] };

const servers: DnsTestServer[] = [];
const clients: DnsClient[] = [];

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function serve(handler: DnsHandler): Promise<DnsTestServer> {
  const server = await DnsTestServer.start(handler);
  servers.push(server);
  return server;
}

function client(now?: () => number): DnsClient {
  const created = new DnsClient(now);
  clients.push(created);
  return created;
}

/**
 * A policy whose waits last 10 s, so that no timer ends what a test waits for,
 * unless the test sets shorter waits.
 */
function policy(asked: readonly DnsTestServer[], changes: Partial<AskPolicy> = {}): AskPolicy {
  const addresses = asked.map(({ port }) => ({ host: '127.0.0.1', port }));
  return { servers: addresses, waitMs: () => 10_000, tries: 10, timeoutMs: 10_000, ...changes };
}

function ask(from: DnsClient, how: AskPolicy, question = QUESTION): Promise<DnsReply> {
  return new Promise((settle) => from.askServers(question, how, settle));
}

const answered = { kind: 'answer', message: { rcode: 0, answers: [{ type: 'A', address: '192.0.2.1' }] } };

test('asks once over UDP and settles with the answer', async () => {
  const server = await serve(() => RECORDS);
  expect(await ask(client(), policy([server]))).toMatchObject(answered);
  expect(server.requests).toMatchObject([
    { name: 'example.com', type: 'A', hasEdns: true, transport: 'udp' },
  ]);
});

test('a name that does not exist is an answer', async () => {
  const server = await serve(() => ({ rcode: 3 }));
  expect(await ask(client(), policy([server]))).toMatchObject({ kind: 'answer', message: { rcode: 3 } });
});

/**
 * The answer of a server that does not know whether the name exists: one record of
 * `type` in the authority section.
 */
function authority(request: DnsRequest, type: number): Buffer {
  const answer = encodeResponse(request, {});
  answer.writeUInt16BE(0x8000, 2);
  answer.writeUInt16BE(1, 8);
  return Buffer.concat([answer, Buffer.from([0, 0, type, 0, 1, 0, 0, 0, 60, 0, 1, 0])]);
}

describe('a mere referral', () => {
  const NS = 2;
  const SOA = 6;

  test('makes the client ask the next server', async () => {
    const referring = await serve((request) => authority(request, NS));
    const knowing = await serve(() => RECORDS);
    expect(await ask(client(), policy([referring, knowing]))).toMatchObject(answered);
  });

  test('is a failure when no server gives a better answer', async () => {
    const server = await serve((request) => authority(request, NS));
    expect(await ask(client(), policy([server]))).toEqual({
      kind: 'failed',
      why: `a referral to other servers from ${server.address}`,
    });
  });

  test.each([
    ['with the zone itself', SOA, 0x8000],
    ['of a server that asks others', NS, 0x8080],
    ['of a server of the zone', NS, 0x8400],
  ])('is none %s', async (_name, type, flags) => {
    const server = await serve((request) => {
      const answer = authority(request, type);
      answer.writeUInt16BE(flags, 2);
      return answer;
    });
    expect(await ask(client(), policy([server]))).toMatchObject({ kind: 'answer', message: { answers: [] } });
  });
});

describe('a message that is no answer is ignored, and the answer after it is taken', () => {
  test.each<[string, (forged: Buffer) => Buffer]>([
    [
      'another id',
      (forged) => Buffer.concat([Buffer.from([forged[0]! ^ 0xff, forged[1]!]), forged.subarray(2)]),
    ],
    ['cut short', (forged) => forged.subarray(0, 20)],
    ['one byte', (forged) => forged.subarray(0, 1)],
    ['noise after the id', (forged) => Buffer.concat([forged.subarray(0, 2), Buffer.alloc(400, 0xc0)])],
    ['a query instead of a response', (forged) => changed(forged, 2, 0x01)],
    ['an answer to another name', (forged) => changed(forged, 13, 0x78)],
    ['an answer to another type', (forged) => changed(forged, 12 + 13 + 1, 28)],
  ])('%s', async (_name, spoil) => {
    const server = await serve((request) => {
      const forged = encodeResponse(request, { records: [a('example.com', '198.51.100.1')] });
      return [spoil(forged), encodeResponse(request, RECORDS)];
    });
    expect(await ask(client(), policy([server]))).toMatchObject(answered);
  });

  test('without an answer after it, the question ends in a time-out that mentions it', async () => {
    const server = await serve((request) =>
      encodeResponse(request, { ...RECORDS, questionName: 'other.example' }),
    );
    const reply = await ask(client(), policy([server], { timeoutMs: 1_000 }));
    expect(reply).toEqual({
      kind: 'silent',
      why: `no answer from ${server.address}, 1 malformed answers ignored`,
    });
  });
});

describe('truncated answers', () => {
  const large = txt('example.com', 'x'.repeat(255), 'y'.repeat(255));

  test('are asked for again over TCP', async () => {
    const server = await serve(({ transport }) =>
      transport === 'udp' ? { isTruncated: true } : { records: new Array(20).fill(large) },
    );
    const reply = await ask(client(), policy([server]), { name: 'example.com', type: 'TXT' });
    if (reply.kind !== 'answer') throw new Error(`no answer: ${reply.why}`);
    expect(reply.message.answers).toHaveLength(20);
    expect([server.count('udp'), server.count('tcp')]).toEqual([1, 1]);
  });

  test('from a server that sends garbage over TCP make the client ask the next server', async () => {
    const broken = await serve(({ transport }) =>
      transport === 'udp' ? { isTruncated: true } : Buffer.alloc(30, 7),
    );
    const good = await serve(() => RECORDS);
    expect(await ask(client(), policy([broken, good]))).toMatchObject(answered);
    const reply = await ask(client(), policy([broken]));
    expect(reply).toEqual({
      kind: 'failed',
      why: `malformed answer from ${broken.address} over TCP, after a truncated answer`,
    });
  });

  test('from a server that never answers over TCP fail with that reason', async () => {
    const server = await serve(({ transport }) => (transport === 'udp' ? { isTruncated: true } : null));
    const reply = await ask(client(), policy([server], { waitMs: () => 100, timeoutMs: 1_000 }));
    expect(reply).toEqual({
      kind: 'silent',
      why: `no answer over TCP, after a truncated one, from ${server.address}`,
    });
    // Only one TCP connection is opened, however often the client repeats the datagram.
    expect(server.count('tcp')).toBe(1);
  });

  test('that come one byte at a time are read', async () => {
    const server = await serve(({ transport }) =>
      transport === 'udp' ? { isTruncated: true } : { ...RECORDS, isDripped: true },
    );
    expect(await ask(client(), policy([server]))).toMatchObject(answered);
  });

  test('of no length at all are malformed', async () => {
    const server = await serve(({ transport }) =>
      transport === 'udp' ? { isTruncated: true } : Buffer.alloc(0),
    );
    expect((await ask(client(), policy([server]))).kind).toBe('failed');
  });
});

describe('servers that cannot help', () => {
  test.each([
    [2, 'SERVFAIL'],
    [4, 'NOTIMP'],
    [5, 'REFUSED'],
    [9, 'RCODE 9'],
  ])('RCODE %d: the next server is asked at once, and the message names the code', async (rcode, text) => {
    const bad = await serve(() => ({ rcode }));
    const good = await serve(() => RECORDS);
    expect(await ask(client(), policy([bad, good]))).toMatchObject(answered);
    expect(await ask(client(), policy([bad]))).toEqual({
      kind: 'failed',
      why: `${text} from ${bad.address}`,
    });
  });

  test('an answer without the question is taken from a server that refuses', async () => {
    const server = await serve(({ packet }) =>
      Buffer.from([packet[0]!, packet[1]!, 0x81, 0x85, ...new Array(8).fill(0)]),
    );
    expect(await ask(client(), policy([server]))).toEqual({
      kind: 'failed',
      why: `REFUSED from ${server.address}`,
    });
  });

  test.each([
    [1, 'FORMERR'],
    [2, 'SERVFAIL'],
    [4, 'NOTIMP'],
  ])('a server that answers EDNS with RCODE %d (%s) is asked again without EDNS', async (rcode) => {
    const server = await serve(({ hasEdns }) => (hasEdns ? { rcode } : RECORDS));
    expect(await ask(client(), policy([server]))).toMatchObject(answered);
    expect(server.requests.map(({ hasEdns }) => hasEdns)).toEqual([true, false]);
  });

  test('a server that does not exist fails at once', async () => {
    const gone = await DnsTestServer.start(() => null);
    const { address, port } = gone;
    await gone.close();
    const how = { ...policy([]), servers: [{ host: '127.0.0.1', port }] };
    expect(await ask(client(), how)).toEqual({ kind: 'unreachable', why: `ECONNREFUSED from ${address}` });
  });

  test('a server that cannot be asked fails every question, also questions that are asked again at once', async () => {
    // The socket would need the option SO_BROADCAST, which the client never sets.
    const how = { ...policy([]), servers: [{ host: '255.255.255.255', port: 53 }] };
    const from = client();
    const replies: DnsReply[] = [];
    await new Promise<void>((resolve) => {
      const askAgain = (): void => {
        from.askServers(QUESTION, how, (reply) => {
          replies.push(reply);
          if (replies.length < 30) askAgain();
          else resolve();
        });
      };
      askAgain();
    });
    expect([...new Set(replies.map(({ kind }) => kind))]).toEqual(['unreachable']);
  });

  test('all servers fail, each for its reason', async () => {
    const first = await serve(() => ({ rcode: 2 }));
    const second = await serve(() => ({ rcode: 5 }));
    const reply = await ask(client(), policy([first, second]));
    expect(reply).toEqual({
      kind: 'failed',
      why: `SERVFAIL from ${first.address}, REFUSED from ${second.address}`,
    });
    expect([first.requests.length, second.requests.length]).toEqual([2, 1]);
  });
});

describe('silence', () => {
  test('servers are asked in turns, then the question is given up', async () => {
    const silent = [await serve(() => null), await serve(() => null)];
    const reply = await ask(client(), policy(silent, { waitMs: () => 20, tries: 5 }));
    expect(reply).toEqual({
      kind: 'silent',
      why: `no answer from ${silent[1]!.address}, ${silent[0]!.address}`,
    });
    expect(silent.map(({ requests }) => requests.length)).toEqual([3, 2]);
  });

  test('a lost datagram is sent again', async () => {
    let asked = 0;
    const server = await serve(() => (++asked === 1 ? null : RECORDS));
    expect(await ask(client(), policy([server], { waitMs: briefly }))).toMatchObject(answered);
  });

  test('an answer that arrived within the last wait counts, even if it is read later', async (context) => {
    const lastMs = 1_500;
    const late = await startLateTarget();
    context.onTestFinished(late.close);
    const asked = late.asked();
    const last = Promise.withResolvers<void>();
    const waitMs = (n: number) => {
      if (n === 1) last.resolve();
      return n === 0 ? 20 : lastMs;
    };
    const server = { host: '127.0.0.1', port: late.udpPort };
    const reply = ask(client(), { servers: [server], waitMs, tries: 2, timeoutMs: 60_000 });
    await Promise.all([asked, last.promise]);
    // The block must begin outside of the timers phase, so that the loop runs the due timers before it reads.
    await nextTurn();
    late.answerBehindOurBack(lastMs);
    expect(await reply).toMatchObject({ kind: 'answer' });
  });

  test('a late answer to an earlier try is taken', async () => {
    let release = () => {};
    const second = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow = await serve(async () => {
      await second;
      return RECORDS;
    });
    const silent = await serve(() => {
      release();
      return null;
    });
    expect(
      await ask(client(), policy([slow, silent], { waitMs: (n) => (n === 0 ? 20 : 10_000) })),
    ).toMatchObject(answered);
  });
});

/** The wait after the first try is short. A later wait lasts as long as a test can need. */
const briefly = (n: number) => (n === 0 ? 20 : 10_000);

describe('a server that drops queries with EDNS', () => {
  const old = () => serve(({ hasEdns }) => (hasEdns ? null : RECORDS));

  test('answers the repetition without EDNS', async () => {
    const server = await old();
    expect(await ask(client(), policy([server], { waitMs: briefly }))).toMatchObject(answered);
    expect(server.requests.map(({ hasEdns }) => hasEdns)).toEqual([true, false]);
  });

  test('is asked without EDNS the next time, and with EDNS again after ten minutes', async () => {
    let now = 0;
    const server = await old();
    const asking = client(() => now);
    const quick = policy([server], { waitMs: briefly });
    await ask(asking, quick);
    await ask(asking, policy([server]));
    expect(server.requests.map(({ hasEdns }) => hasEdns)).toEqual([true, false, false]);
    now = 600_000;
    await ask(asking, quick);
    expect(server.requests.map(({ hasEdns }) => hasEdns).slice(3)).toEqual([true, false]);
  });

  test('is not one that answered with EDNS before: a datagram is lost now and then', async () => {
    let isLossy = false;
    const server = await serve(({ hasEdns }) => (hasEdns && isLossy ? null : RECORDS));
    const asking = client();
    await ask(asking, policy([server]));
    isLossy = true;
    await ask(asking, policy([server], { waitMs: briefly }));
    isLossy = false;
    await ask(asking, policy([server]));
    expect(server.requests.map(({ hasEdns }) => hasEdns)).toEqual([true, true, false, true]);
  });
});

describe('a server that is silent while another one answers', () => {
  const names = (asked: readonly DnsTestServer[]) => asked.map(({ requests }) => requests.length);
  test('is asked last from then on', async () => {
    const dead = await serve(() => null);
    const good = await serve(() => RECORDS);
    const asking = client();
    await ask(asking, policy([dead, good], { waitMs: briefly }));
    expect(names([dead, good])).toEqual([1, 1]);
    // If the client still waited for the dead server, each question would take ten seconds.
    for (let again = 0; again < 5; again += 1) await ask(asking, policy([dead, good]));
    expect(names([dead, good])).toEqual([1, 6]);
  });

  test('and so is a server that does not exist', async () => {
    const gone = await DnsTestServer.start(() => null);
    const good = await serve(() => RECORDS);
    const addresses = [gone.address, good.address].map(parseServer);
    await gone.close();
    const asking = client();
    const how = { ...policy([]), servers: addresses };
    for (let again = 0; again < 3; again += 1) expect(await ask(asking, how)).toMatchObject(answered);
  });

  test('is asked in passing every half minute, and comes first again when it answers', async () => {
    let now = 0;
    let isDead = true;
    const first = await serve(() => (isDead ? null : RECORDS));
    const second = await serve(() => RECORDS);
    const asking = client(() => now);
    const both = policy([first, second]);
    await ask(asking, { ...both, waitMs: briefly });
    now += 30_000;
    await ask(asking, both);
    await ask(asking, both);
    await expect.poll(() => names([first, second])).toEqual([2, 3]);
    isDead = false;
    now += 30_000;
    // The client may receive the answer to its test of the silent server after the
    // answer to the question itself.
    await expect
      .poll(async () => {
        await ask(asking, both);
        return first.requests.length;
      })
      .toBeGreaterThan(4);
    const asked = second.requests.length;
    await ask(asking, both);
    expect(second.requests.length).toBe(asked);
  });

  test('comes before the other one again when that one is silent', async () => {
    const dead = new Set<number>();
    const handler =
      (place: number): DnsHandler =>
      () =>
        dead.has(place) ? null : RECORDS;
    const both = [await serve(handler(0)), await serve(handler(1))];
    const asking = client();
    const quick = policy(both, { waitMs: briefly });
    dead.add(0);
    await ask(asking, quick);
    dead.clear();
    dead.add(1);
    await ask(asking, quick);
    await ask(asking, policy(both));
    expect(names(both)).toEqual([3, 2]);
  });

  test('keeps its place when no server answers, and when it is only slower than its turn', async () => {
    const slow = await serve(() => null);
    const silent = await serve(() => null);
    const asking = client();
    await ask(asking, policy([slow, silent], { waitMs: () => 20, tries: 2 }));
    slow.handle(() => RECORDS);
    await ask(asking, policy([slow, silent]));
    expect(names([slow, silent])).toEqual([2, 1]);
  });

  test('keeps its place when it refuses; the next server is then asked without a wait', async () => {
    const refusing = await serve(() => ({ rcode: 5 }));
    const good = await serve(() => RECORDS);
    const asking = client();
    for (let again = 0; again < 2; again += 1) await ask(asking, policy([refusing, good]));
    expect(names([refusing, good])).toEqual([2, 2]);
  });
});

test('a cancelled question is not settled', async () => {
  const server = await serve(() => RECORDS);
  const asking = client();
  let isSettled = false;
  const cancel = asking.askServers(QUESTION, policy([server]), () => {
    isSettled = true;
  });
  cancel();
  cancel();
  await ask(asking, policy([server]));
  expect(isSettled).toBe(false);
});

const STOPPED = { kind: 'unable', why: 'the agent is stopping' };

test('closing settles open and later questions', async () => {
  const server = await serve(() => null);
  const closing = client();
  const open = ask(closing, policy([server]));
  await closing.close();
  expect(await open).toEqual(STOPPED);
  expect(await ask(closing, policy([server]))).toEqual(STOPPED);
});

test('closing settles a question that waits only for an answer over TCP', async () => {
  const isAskedOverTcp = Promise.withResolvers<void>();
  const server = await serve(({ transport }) => {
    if (transport === 'udp') return { isTruncated: true };
    isAskedOverTcp.resolve();
    return null;
  });
  const closing = client();
  const open = ask(closing, policy([server], { waitMs: () => 500, timeoutMs: 1_000 }));
  await isAskedOverTcp.promise;
  await closing.close();
  expect(await open).toEqual(STOPPED);
});

test('thousands of questions are all answered, over a bounded number of ports', async () => {
  const server = await serve(({ name }) => ({ records: [a(name, '192.0.2.1')] }));
  const asking = client();
  const replies: DnsReply[] = [];
  // A hundred questions are asked at a time. More would
  // overflow the receive buffer of the one socket that answers.
  for (let round = 0; round < 30; round += 1) {
    const names = Array.from({ length: 100 }, (_, n) => `host-${round}-${n}.example`);
    const asked = names.map((name) =>
      ask(asking, policy([server], { waitMs: () => 500 }), { name, type: 'A' }),
    );
    replies.push(...(await Promise.all(asked)));
  }
  expect(replies.filter(({ kind }) => kind === 'answer')).toHaveLength(3_000);
  const ports = new Set(server.requests.map(({ fromPort }) => fromPort));
  expect(ports.size).toBeGreaterThan(4);
  expect(ports.size).toBeLessThanOrEqual(36);
});

test('a further try leaves from a port that was opened since the question began', async () => {
  let isLost = true;
  const server = await serve(({ name }) => {
    if (name !== 'lost.example') return { records: [a(name, '192.0.2.1')] };
    isLost = !isLost;
    return isLost ? { records: [a(name, '192.0.2.1')] } : null;
  });
  const asking = client();
  for (let n = 0; n < 60; n += 1)
    await ask(asking, policy([server]), { name: `host-${n}.example`, type: 'A' });
  const before = new Set(server.requests.map(({ fromPort }) => fromPort));
  await ask(asking, policy([server], { waitMs: () => 50 }), { name: 'lost.example', type: 'A' });
  const tries = server.requests.filter(({ name }) => name === 'lost.example');
  const [first, second] = tries.map(({ fromPort }) => fromPort);
  expect(before).toContain(first);
  expect(before).not.toContain(second);
});

test('a port that has met an error is not used again', async () => {
  const noneIsOpen = () => expect.poll(openUdpSockets).toBe(0);
  await noneIsOpen();
  const server = await DnsTestServer.start(() => RECORDS);
  const asking = client();
  const how = policy([server]);
  expect(await ask(asking, how)).toMatchObject(answered);
  await server.close();
  const refused = Array.from({ length: 60 }, () => ask(asking, how));
  expect((await Promise.all(refused)).every(({ kind }) => kind === 'unreachable')).toBe(true);
  await noneIsOpen();
});

test('questions that are never answered do not take a port each', async () => {
  const server = await serve(() => null);
  const asking = client();
  const before = openUdpSockets();
  const cancels = Array.from({ length: 20_000 }, () =>
    asking.askServers(QUESTION, policy([server]), () => {}),
  );
  expect(openUdpSockets() - before).toBeGreaterThan(4);
  expect(openUdpSockets() - before).toBeLessThanOrEqual(36);
  for (const cancel of cancels) cancel();
});

test('a server that truncates over TCP as well has no answer', async () => {
  const server = await serve(() => ({ isTruncated: true }));
  expect(await ask(client(), policy([server]))).toEqual({
    kind: 'failed',
    why: `malformed answer from ${server.address} over TCP, after a truncated answer`,
  });
});

function openUdpSockets(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'UDPWrap').length;
}

function changed(bytes: Buffer, at: number, value: number): Buffer {
  bytes[at] = value;
  return bytes;
}

describe('the silence of our own servers', () => {
  const SHORT = { waitMs: () => 500, timeoutMs: 1_200 };

  describe('is recognised', () => {
    underStoppedTime();

    test('when several names get no answer', async () => {
      const from = client();
      const server = await serve(() => null);
      const replies = ['one.test', 'two.test'].map((name) =>
        ask(from, policy([server], SHORT), { name, type: 'A' }),
      );
      await passAfter(server, 2, 1_200);
      expect((await Promise.all(replies)).map(({ kind }) => kind)).toEqual(['unreachable', 'unreachable']);
      expect(from.isSilentSince(performance.now() - 500)).toBe(true);
    });

    test('not when one name is silent and another is answered', async () => {
      const from = client();
      const server = await serve(({ name }) => (name === 'one.test' ? null : RECORDS));
      const how = policy([server], SHORT);
      const silent = ask(from, how, { name: 'one.test', type: 'A' });
      await ask(from, how);
      // The client asks for the name that was answered before.
      await passAfter(server, 2, 100);
      await passAfter(server, 3, 1_100);
      expect((await silent).kind).toBe('silent');
    });

    test('by a name that was answered before and is asked for again because of one silent name', async () => {
      let isDead = false;
      const server = await serve(({ name }) => (isDead || name === 'one.test' ? null : RECORDS));
      const from = client();
      const how = policy([server], SHORT);
      await ask(from, how);
      const silent = ask(from, how, { name: 'one.test', type: 'A' });
      await passAfter(server, 2, 100);
      await passAfter(server, 3, 1_100);
      expect((await silent).kind).toBe('silent');
      expect(server.requests.filter(({ name }) => name === 'example.com')).toHaveLength(2);
      isDead = true;
      const asked = server.requests.length;
      const unheard = ask(from, how, { name: 'one.test', type: 'A' });
      await passAfter(server, asked + 1, 1_200);
      expect((await unheard).kind).toBe('unreachable');
    });
  });

  test('is recognised within 600 ms of the first silent name, when another name was answered before', async () => {
    let now = 0;
    let isDead = false;
    const from = client(() => now);
    const server = await serve(({ name }) => {
      if (!isDead) return RECORDS;
      // This is the query that tests the servers, for the name that was answered
      // before: now both names are silent.
      if (name === QUESTION.name) now += SILENT_AFTER_MS;
      return null;
    });
    const how = policy([server], { ...SHORT, timeoutMs: 600 });
    await ask(from, how);
    isDead = true;
    expect((await ask(from, how, { name: 'one.test', type: 'A' })).kind).toBe('unreachable');
  });

  test('is recognised when the servers die in the middle of an attempt', async () => {
    let now = 0;
    let isDead = false;
    const from = client(() => now);
    const server = await serve(({ type }) => {
      if (type === 'AAAA') return null;
      // This is the query that tests the servers, for a name that was answered before.
      if (isDead) now += SILENT_AFTER_MS;
      return isDead ? null : RECORDS;
    });
    const how = policy([server], SHORT);
    const silent = ask(from, how, { name: 'one.test', type: 'AAAA' });
    now += 10;
    await ask(from, how);
    isDead = true;
    now += 1_000;
    expect((await silent).kind).toBe('unreachable');
  });

  test('is recognised by one name alone, when the servers could not be reached for another', async () => {
    const gone = await DnsTestServer.start(() => null);
    const refused = { ...policy([]), servers: [parseServer(gone.address)] };
    await gone.close();
    const from = client();
    const askedAt = performance.now();
    const cancel = from.askServers(
      { name: 'one.test', type: 'A' },
      policy([await serve(() => null)]),
      () => {},
    );
    expect(from.isSilentSince(askedAt)).toBe(false);
    expect((await ask(from, refused, { name: 'two.test', type: 'A' })).kind).toBe('unreachable');
    expect(from.isSilentSince(askedAt)).toBe(true);
    cancel();
  });

  test('is recognised by names asked one after the other, when the caller gives up before the policy does', async () => {
    let now = 0;
    const from = client(() => now);
    const how = policy([await serve(() => null)], SHORT);
    for (const [name, isTotal] of [
      ['one.test', false],
      ['two.test', true],
    ] as const) {
      const askedAt = now;
      const cancel = from.askServers({ name, type: 'A' }, how, () => {});
      now += SILENT_AFTER_MS;
      expect(from.isSilentSince(askedAt)).toBe(isTotal);
      cancel();
    }
  });

  test('is not recognised when the caller gives up too early for an answer', async () => {
    let now = 0;
    const from = client(() => now);
    const how = policy([await serve(() => null)], SHORT);
    for (const name of ['one.test', 'two.test', 'three.test']) {
      const askedAt = now;
      const cancel = from.askServers({ name, type: 'A' }, how, () => {});
      now += 149;
      expect(from.isSilentSince(askedAt)).toBe(false);
      cancel();
    }
  });

  test('a server that answers that it cannot tell is not silent', async () => {
    const from = client();
    const how = policy([await serve(() => ({ rcode: 2 })), await serve(() => null)], SHORT);
    const replies = await Promise.all(
      ['one.test', 'two.test'].map((name) => ask(from, how, { name, type: 'A' })),
    );
    expect(replies.map(({ kind }) => kind)).toEqual(['silent', 'silent']);
  });
});
