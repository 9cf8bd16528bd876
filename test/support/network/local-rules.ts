/**
 * Probes targets that this machine's own routes and addresses do not let it reach, in a network
 * namespace of its own. `OwnNetwork` starts this program. It prints a line for each step.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { type Reference, References } from '@svc/agent/network/references.ts';
import { NetworkWatch } from '@svc/agent/network/watch.ts';
import { createDnsProbe } from '@svc/agent/probes/dns/probe.ts';
import { createHttpProbe } from '@svc/agent/probes/http/probe.ts';
import type { ProbeOutcome } from '@svc/agent/probes/probe.ts';
import { createTcpProbe } from '@svc/agent/probes/tcp/probe.ts';
import { systemClock } from '@svc/shared/clock.ts';
import { createEgressGuard } from '@svc/shared/egress.ts';
import type { DnsCheck, TcpCheck } from '@svc/shared/messages/check.ts';
import { pino } from 'pino';
import { DnsTestServer } from '../dns-server.ts';
import { fixedResolver, httpCheck } from '../http-check.ts';
import { ip } from './own-network.ts';

const AWAY = '2001:db8:9::1';
const BY_IPV4 = '10.20.0.1';
const BY_IPV6 = '2001:db8:20::1';

const parts = {
  resolver: fixedResolver({
    [BY_IPV4]: [BY_IPV4],
    [BY_IPV6]: [BY_IPV6],
    [AWAY]: [AWAY],
    'several.test': [BY_IPV4, BY_IPV6],
    'silent.test': [AWAY, BY_IPV4],
  }),
  egress: createEgressGuard({ base: 'agent', deny: [], allow: [] }),
};
const http = createHttpProbe(parts);
const tcp = createTcpProbe(parts);
const tcpCheck: TcpCheck = { type: 'tcp', uri: '', timeout: 1_000, retry: 0, degraded_at: 0 };
/** Time-out of the attempts that get no answer, ms. */
const SILENCE_MS = 2_000;
/** The state of a socket in the kernel's list (proc(5)). */
const SYN_SENT = '02';
// Every other attempt fails at once. The time-out only ends one that hangs.
const context = { timeoutMs: 60_000, signal: new AbortController().signal };

function said({ outcome, reason, errorMessage }: ProbeOutcome): string[] {
  return [`${reason ?? outcome}: ${errorMessage}`];
}

async function probe(host: string): Promise<Record<string, readonly string[]>> {
  const uri = `${host}:80`;
  return {
    [`tcp ${host}`]: said(await tcp.run({ ...tcpCheck, uri }, context)),
    [`http ${host}`]: said(await http.run(httpCheck({ url: `http://${uri}/` }), context)),
    [`https ${host}`]: said(await http.run(httpCheck({ url: `https://${host}:443/` }), context)),
  };
}

async function tell(step: string, hosts: readonly string[]): Promise<void> {
  const outcomes = Object.assign({}, ...(await Promise.all(hosts.map(probe))));
  process.stdout.write(`${JSON.stringify({ step, outcomes, alerts: [], sick: [] })}\n`);
}

/** A reference on the agent's own link, which answers whatever becomes of the routes. */
const near: Reference = {
  name: 'near',
  async askReference(_, heard) {
    heard(4);
    heard(6);
  },
};

/** Asks for a name. */
async function tellOfName(step: string, dns: ReturnType<typeof createDnsProbe>): Promise<void> {
  const limits = { timeout: 5_000, retry: 0, degraded_at: 0 };
  const check: DnsCheck = { type: 'dns', uri: 'www.example.com', record_assertions: [], ...limits };
  const found = await dns.run(check, { ...context, timeoutMs: limits.timeout });
  process.stdout.write(`${JSON.stringify({ step, outcomes: { dns: said(found) }, alerts: [], sick: [] })}\n`);
}

/** Makes this change while so many connections wait for an answer, and tells whether their time-outs count. */
async function tellOfSilence(
  step: string,
  change: () => void,
  hosts: readonly string[],
  connections: number,
): Promise<void> {
  const references = new References({
    list: () => [near],
    clock: systemClock,
    log: pino({ level: 'silent' }),
  });
  const watch = new NetworkWatch({ references, clock: systemClock });
  await references.askReferences([]);
  const startedAt = systemClock.monotonic();
  const limited = { ...context, timeoutMs: SILENCE_MS };
  const runs = hosts.flatMap((host) => {
    const byTcp = { ...tcpCheck, uri: `${host}:80` };
    const byHttp = [`http://${host}/`, `https://${host}/`].map((url) => httpCheck({ url }));
    return [
      { name: byTcp.uri, check: byTcp, run: tcp.run(byTcp, limited) },
      ...byHttp.map((check) => ({ name: check.url, check, run: http.run(check, limited) })),
    ];
  });
  while (connecting() < connections) await turn();
  change();
  const outcomes: Record<string, readonly string[]> = {};
  for (const { name, check, run } of runs) {
    const found = await run;
    const why = await watch.seen(check, found, startedAt);
    outcomes[name] = [`${why ?? found.outcome}: ${found.errorMessage}`];
  }
  await references.stop();
  process.stdout.write(`${JSON.stringify({ step, outcomes, alerts: [], sick: [] })}\n`);
}

/** Number of connections of this namespace that wait for the peer's first answer. */
function connecting(): number {
  const lines = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((path) => readFileSync(path, 'utf8').split('\n'));
  return lines.filter((line) => line.trim().split(/ +/)[3] === SYN_SENT).length;
}

ip('link set lo up');
ip('link add up0 type veth peer name gw0');
// The kernel asks a thousand times whether an address is free, so it stays tentative while the story lasts.
writeFileSync('/proc/sys/net/ipv6/conf/up0/dad_transmits', '1000');
// The other end has no IPv6 address, or the kernel would send from that one as soon as it is no longer tentative.
writeFileSync('/proc/sys/net/ipv6/conf/gw0/disable_ipv6', '1');
ip('addr add 10.0.0.2/24 dev up0');
ip('link set gw0 up');
ip('link set up0 up');
ip('route add default via 10.0.0.1');
ip('-6 addr add 2001:db8:2::2/128 dev lo nodad');
for (const kind of ['blackhole', 'prohibit', 'unreachable']) {
  ip(`route add ${kind} 10.20.0.0/16`);
  ip(`-6 route add ${kind} 2001:db8:20::/48`);
  await tell(kind, [BY_IPV4, `[${BY_IPV6}]`, 'several.test']);
  ip(`route del ${kind} 10.20.0.0/16`);
  ip(`-6 route del ${kind} 2001:db8:20::/48`);
}
ip('-6 addr del 2001:db8:2::2/128 dev lo');
ip('-6 addr add 2001:db8:1::2/64 dev up0');
ip('-6 route add default via 2001:db8:1::1 dev up0');
await tell('tentative', [`[${AWAY}]`]);
const dns = createDnsProbe({ servers: [`[${AWAY}]:53`] });
await tellOfName('tentative, names', dns);
ip('-6 addr add 2001:db8:1::3/64 dev up0 nodad');
// The gateways take every packet, and nothing answers.
ip('neigh replace 10.0.0.1 lladdr 02:00:00:00:00:01 dev up0');
ip('neigh replace 2001:db8:1::1 lladdr 02:00:00:00:00:01 dev up0');
const one = [BY_IPV4, `[${AWAY}]`];
const both = 'silent.test';
await tellOfSilence('silent', () => {}, [...one, both], 12);
const replaceAddresses = (): void => {
  ip('addr del 10.0.0.2/24 dev up0');
  ip('addr add 10.0.0.3/24 dev up0');
  ip('route add default via 10.0.0.1');
  ip('-6 addr del 2001:db8:1::3/64 dev up0');
  ip('-6 addr add 2001:db8:1::4/64 dev up0 nodad');
};
await tellOfSilence('own addresses replaced under way', replaceAddresses, [...one, both], 12);
const removeRoutes = (): void => {
  ip('route del default');
  ip('-6 route del default');
};
await tellOfSilence('route gone under way', removeRoutes, one, 6);
ip('-6 addr del 2001:db8:1::4/64 dev up0');
ip('-6 route add default dev up0');
await tellOfSilence('route left for IPv6 without an address', () => {}, [both], 3);
const server = await DnsTestServer.start(({ transport }) => {
  if (transport === 'udp') return { isTruncated: true };
  ip('addr flush dev lo');
  return null;
});
const truncated = createDnsProbe({ servers: [server.address] });
await tellOfName('route gone after a truncated answer', truncated);
await Promise.all([http.close(), tcp.close(), dns.close(), truncated.close(), server.close()]);
