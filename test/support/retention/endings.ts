import { once } from 'node:events';
import { createSecureServer } from 'node:http2';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { createDnsProbe } from '@svc/agent/probes/dns/probe.ts';
import { createHttpProbe, type HttpProbeParts } from '@svc/agent/probes/http/probe.ts';
import type { ProbeContext, ProbeOutcome } from '@svc/agent/probes/probe.ts';
import { createTcpProbe } from '@svc/agent/probes/tcp/probe.ts';
import { createEgressGuard } from '@svc/shared/egress.ts';
import type { HttpCheck } from '@svc/shared/messages/check.ts';
import { parseProxy } from '@svc/shared/proxy/proxy.ts';
import { startBlackhole } from '../blackhole.ts';
import { a, DnsTestServer } from '../dns-server.ts';
import { startForwardProxy } from '../forward-proxy.ts';
import { freePort } from '../free-port.ts';
import { fixedResolver, httpCheck } from '../http-check.ts';
import { answer, type Behaviour, drip, sendAndReset, startRawTarget } from '../raw-target.ts';
import { tcpCheck } from '../scripted-probe.ts';
import { EXPIRED, TEST_AUTHORITY, TRUSTED } from '../tls/certificates.ts';

/** An object that only one attempt holds. It lives as long as the attempt is kept. */
export type Ballast = { readonly text: string };

/** Makes one attempt that holds the ballast, and resolves when it has ended. */
export type Ending = (ballast: Ballast) => Promise<ProbeOutcome>;

/** The endings by name: the kind of the check, the behaviour of the target, and the end of the attempt. */
export type Endings = { readonly byName: Readonly<Record<string, Ending>>; close(): Promise<void> };

/** Time-outs of an attempt without an answer and of one with an answer, ms. */
const SHORT_MS = 15;
const LONG_MS = 30_000;

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok';
const resolver = fixedResolver({ 'two.test': ['127.0.0.3', '127.0.0.1'], localhost: ['127.0.0.1'] });
const egress = createEgressGuard({ base: 'agent', deny: [], allow: [] });

/**
 * The real probes against targets on loopback, with every ending
 * of an attempt that takes a path of its own in the code.
 */
export async function startEndings(): Promise<Endings> {
  const closing: (() => Promise<void>)[] = [];
  const started = <T extends { close(): Promise<void> }>(one: T): T => {
    closing.push(() => one.close());
    return one;
  };
  const raw = async (behaviour: Behaviour) => started(await startRawTarget(behaviour)).url;
  const serving = async (server: Server): Promise<number> => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    closing.push(async () => void server.close());
    return (server.address() as AddressInfo).port;
  };

  const target = started(await startRawTarget(answer(OK)));
  const silent = await raw(() => {});
  const hole = started(await startBlackhole());
  const secure = await serving(createTlsServer(TRUSTED, (socket) => socket.on('error', () => {}).end(OK)));
  const http2 = createSecureServer(TRUSTED, (_request, response) => response.end('ok'));
  const proxy = started(await startForwardProxy(target.port));
  const dns = started(
    await DnsTestServer.start(({ name }) =>
      name === 'silent.test' ? null : { records: [a(name, '127.0.0.1')] },
    ),
  );
  const http = httpBy({ tlsOptions: { ca: [TEST_AUTHORITY] } });
  const byProxy = httpBy({ proxyFor: () => parseProxy(proxy.url.replace('127.0.0.1', 'localhost')) });
  const dnsProbe = started(createDnsProbe({ servers: [dns.address] }));
  const asking =
    (uri: string, timeoutMs = LONG_MS): Ending =>
    (ballast) => {
      const check = {
        type: 'dns' as const,
        uri,
        record_assertions: [],
        timeout: 1,
        retry: 0,
        degraded_at: 0,
      };
      return dnsProbe.run({ ...check, ...{ ballast } }, lasting(timeoutMs));
    };
  return {
    byName: {
      'HTTP: passed': http(target.url),
      'HTTP with a kept body: passed': http(target.url, {
        body_assertions: [{ target: 'ok', comparator: 'contains' }],
      }),
      'HTTP with a redirect: passed': http(
        await raw(answer(`HTTP/1.1 302 Found\r\nLocation: ${target.url}\r\nContent-Length: 9\r\n\r\n`)),
      ),
      'HTTP at the second of two addresses: passed': http(`http://two.test:${target.port}`),
      'HTTP by a proxy: passed': byProxy('http://a.test/'),
      'HTTP at a closed port: failed': http(`http://127.0.0.1:${await freePort()}`),
      'HTTP with a reset before the answer: failed': http(await raw((socket) => socket.resetAndDestroy())),
      'HTTP with a reset in the body: failed': http(
        await raw(sendAndReset('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok')),
      ),
      'HTTP without a connection: timed out': http(`http://127.0.0.1:${hole.port}`, {}, SHORT_MS),
      'HTTP without an answer: timed out': http(silent, {}, SHORT_MS),
      'HTTP with an endless body: timed out': http(
        await raw(drip('HTTP/1.1 200 OK\r\n\r\n', 'a', 5)),
        {},
        SHORT_MS,
      ),
      'HTTP of an agent that stops: not_run': stopped(http, silent),
      'HTTPS: passed': http(`https://localhost:${secure}`),
      'HTTPS with an expired certificate: failed': http(
        `https://localhost:${await serving(createTlsServer(EXPIRED))}`,
      ),
      'HTTPS with a reset in the handshake: failed': http(
        `https://localhost:${await serving(createServer((socket) => socket.once('data', () => socket.resetAndDestroy())))}`,
      ),
      'HTTPS without a handshake: timed out': http(silent.replace('http', 'https'), {}, SHORT_MS),
      'HTTP/2: passed': http(`https://localhost:${await serving(http2)}`),
      'TCP: passed': dialling(`localhost:${target.port}`),
      'TCP at the second of two addresses: passed': dialling(`two.test:${target.port}`),
      'TCP at a closed port: failed': dialling(`localhost:${await freePort()}`),
      'TCP without a connection: timed out': dialling(`localhost:${hole.port}`, SHORT_MS),
      'DNS: passed': asking('a.test'),
      'DNS without an answer: timed out': asking('silent.test', SHORT_MS),
    },
    async close() {
      for (const close of closing) await close();
    },
  };
}

type HttpEnding = (
  url: string,
  given?: Partial<HttpCheck>,
  timeoutMs?: number,
  signal?: AbortSignal,
) => Ending;

function httpBy(parts: Partial<HttpProbeParts>): HttpEnding {
  const probe = createHttpProbe({ resolver, egress, ...parts });
  return (url, given = {}, timeoutMs = LONG_MS, signal) =>
    (ballast) =>
      probe.run({ ...httpCheck({ url, ...given }), ...{ ballast } }, lasting(timeoutMs, signal));
}

/** Ends the attempt by a stop of the agent, one turn after the attempt has begun. */
function stopped(http: HttpEnding, url: string): Ending {
  return (ballast) => {
    const stop = new AbortController();
    setImmediate(() => stop.abort());
    return http(url, {}, LONG_MS, stop.signal)(ballast);
  };
}

/** Makes a dial. The ballast is attached to its resolver, because a dial does not know its check. */
function dialling(uri: string, timeoutMs = LONG_MS): Ending {
  return (ballast) =>
    createTcpProbe({ resolver: { ...resolver, ...{ ballast } }, egress }).run(
      tcpCheck({ uri }),
      lasting(timeoutMs),
    );
}

/** The signal of an agent that is never stopped. All attempts share it. */
const neverStopped = new AbortController().signal;

function lasting(timeoutMs: number, signal = neverStopped): ProbeContext {
  return { timeoutMs, signal };
}
