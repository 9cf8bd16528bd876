import { Resolver } from 'node:dns/promises';
import { connect, isIP } from 'node:net';
import { parseServer } from '@svc/agent/dns/servers.ts';
import { parseReferenceHost } from '@svc/agent/network/reference-list.ts';
import { codeOf, isCode, messageOf } from '@svc/shared/errors.ts';
import { parseNatsServers } from '@svc/shared/nats/servers.ts';
import { isExportOff } from '@svc/shared/own-metrics/own-metrics-settings.ts';
import { proxyFor } from '@svc/shared/proxy/proxy.ts';
import { type FoundNames, nameProblem, namesOfServers } from '../../name-lookups.ts';
import { type Finding, findingsOf, type Subject } from './finding.ts';
import { ANSWER_MS, onceWithin } from './once-within.ts';

const dns = findingsOf('dns');
const egress = findingsOf('egress');

/**
 * A name that never exists (RFC 6761, section 6.4). A working name server answers that there is no such name.
 */
const NO_NAME = 'svc-doctor.invalid';
const SAYS_NO = new Set(['ENOTFOUND', 'ENODATA']);

/** The names that are looked up once, for all checks. Hosts that are IP addresses are left out. */
export function namesOf(subject: Subject, clockUrl: string | null): ReadonlySet<string> {
  const hosts = [
    ...parseNatsServers(subject.config.natsUrl.reveal()).hosts,
    ...targetsOf(subject).map(({ host }) => host),
    ...(clockUrl !== null && URL.canParse(clockUrl) ? [addressOf(clockUrl).host] : []),
  ];
  return new Set(hosts.filter((host) => isIP(host) === 0));
}

/**
 * Checks that the names of the NATS servers have addresses,
 * and that the name servers for DNS monitors answer.
 */
export async function dnsFindings({ role, config }: Subject, names: Promise<FoundNames>): Promise<Finding[]> {
  const hosts = namesOfServers(config.natsUrl.reveal());
  const servers = role === 'agent' ? (config.dnsServers ?? []) : [];
  const ofServers = await Promise.all(servers.map(answers));
  const known = await names;
  const found = [...hosts.map((host) => resolves(host, known)), ...ofServers];
  return found.length > 0 ? found : [dns.ok('the settings have no name that must be resolved')];
}

function resolves(name: string, names: FoundNames): Finding {
  const found = names.get(name);
  if (found !== undefined && 'address' in found) return dns.ok(`${name} is ${found.address}`);
  const todo = 'look at /etc/resolv.conf and /etc/hosts of this machine, and at the name server';
  return dns.failed(nameProblem(name, names) ?? name, todo);
}

async function answers(server: string): Promise<Finding> {
  const { host, port } = parseServer(server);
  // The resolver gives its second try twice the time of the first try.
  const resolver = new Resolver({ timeout: Math.floor(ANSWER_MS / 3), tries: 2 });
  resolver.setServers([isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`]);
  try {
    await resolver.resolve4(NO_NAME);
  } catch (error) {
    const code = codeOf(error);
    if (!SAYS_NO.has(code)) {
      return dns.failed(
        `the resolver ${server} does not answer as it should (${code})`,
        'take it out of SVC_DNS_SERVERS, or look at it and the way to it (port 53, UDP and TCP)',
      );
    }
  }
  return dns.ok(`the resolver ${server} answers`);
}

type Target = { readonly name: string; readonly host: string; readonly port: number };

/** The hosts that this machine needs in addition to NATS. */
function targetsOf({ role, config }: Subject): Target[] {
  const proxy = (role === 'agent' ? config.probeProxy : config.channelProxy)?.reveal();
  const otlp = isExportOff(config) ? undefined : (config.otlpMetricsEndpoint ?? config.otlpEndpoint);
  const endpoint = otlp === undefined ? undefined : addressOf(otlp.reveal());
  // An agent sends its metrics to the OTLP endpoint directly, without the proxy of its probes.
  const byProxy = role === 'agent' ? undefined : proxyFor(proxy, config.noProxy);
  const relay = role === 'agent' ? undefined : config.smtpUrl?.reveal();
  return [
    ...(proxy === undefined ? [] : [{ name: 'the proxy', host: proxy.host, port: proxy.port }]),
    ...(role === 'agent'
      ? (config.referenceHosts ?? []).map((host) => ({ name: host, ...parseReferenceHost(host) }))
      : []),
    ...(relay === undefined
      ? []
      : [{ name: 'the relay of SVC_SMTP_URL', host: relay.host, port: relay.port }]),
    ...(endpoint === undefined || byProxy?.(endpoint.host, endpoint.port) !== undefined
      ? []
      : [{ name: 'the endpoint of OTEL_EXPORTER_OTLP_*', ...endpoint }]),
  ];
}

/** Checks whether this machine reaches the hosts that it needs in addition to NATS. */
export async function egressFindings(subject: Subject, names: FoundNames): Promise<Finding[]> {
  const targets = targetsOf(subject);
  if (targets.length === 0) {
    return [
      egress.skipped(
        'nothing outside was tried',
        subject.role === 'agent'
          ? '"svc check https://www.example.com/" probes a target from here'
          : '"svc check URL" probes a receiver from here',
      ),
    ];
  }
  return Promise.all(targets.map((target) => reaches(target, nameProblem(target.host, names))));
}

function addressOf(url: string): { host: string; port: number } {
  const { hostname, port, protocol } = new URL(url);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || (protocol === 'https:' ? 443 : 80)) };
}

async function reaches({ name, host, port }: Target, problem: string | null): Promise<Finding> {
  if (problem !== null)
    return egress.failed(`${name} cannot be reached: ${problem}`, 'look at /etc/resolv.conf of this machine');
  const socket = connect({ host, port });
  try {
    await onceWithin(socket, 'connect');
  } catch (error) {
    // The host, or a firewall in its place, has sent the refusal, so packets reach it.
    if (isCode(error, 'ECONNREFUSED'))
      return egress.warning(
        `${name} is reached, and refuses connections on port ${port}`,
        'look at the address',
      );
    return egress.failed(
      `${name} cannot be reached: ${messageOf(error)}`,
      'look at the firewall, the route and the proxy',
    );
  } finally {
    socket.destroy();
  }
  return egress.ok(`${name} is reached`);
}
