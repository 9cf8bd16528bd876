import { spawn } from 'node:child_process';
import { isIP } from 'node:net';
import { createInterface } from 'node:readline';
import { parseNatsServers } from '@svc/shared/nats/servers.ts';
import { z } from 'zod';

/** Maximum time for all look-ups together, ms. */
const WITHIN_MS = 5_000;

/** The outcome of a look-up: an address, or the reason why there is none. */
export type FoundName = { readonly address: string } | { readonly problem: string };

/** The outcomes of the look-ups, by name. */
export type FoundNames = ReadonlyMap<string, FoundName>;

const line = z.object({ name: z.string(), address: z.string().optional(), problem: z.string().optional() });

const LOOKUPS = `
const { lookup } = require('node:dns');
for (const name of process.argv.slice(1))
  lookup(name, (error, address) =>
    console.log(JSON.stringify(error ? { name, problem: error.message } : { name, address })));
`;

/**
 * Looks up all names at the same time with the system's resolver, as other
 * programs do. A name without an answer after {@link WITHIN_MS} has a problem.
 *
 * A child process makes the look-ups and is killed at the end. When no name server answers,
 * a look-up takes half a minute, cannot be cancelled, and keeps its process from ending.
 */
export async function lookUpNames(names: ReadonlySet<string>): Promise<FoundNames> {
  const found = new Map<string, FoundName>();
  if (names.size === 0) return found;
  const child = spawn(process.execPath, ['-e', LOOKUPS, '--', ...names], {
    stdio: ['ignore', 'pipe', 'inherit'],
    // libuv uses at most half of its threads for look-ups, so there are two threads for each name.
    env: { ...process.env, NODE_OPTIONS: '', UV_THREADPOOL_SIZE: String(Math.min(1_024, 2 * names.size)) },
  });
  const tooLate = setTimeout(() => child.kill('SIGKILL'), WITHIN_MS);
  for await (const text of createInterface({ input: child.stdout })) {
    const { name, address, problem = 'no address' } = line.parse(JSON.parse(text));
    found.set(name, address === undefined ? { problem } : { address });
  }
  clearTimeout(tooLate);
  for (const name of names)
    if (!found.has(name)) found.set(name, { problem: `no answer within ${WITHIN_MS / 1_000} s` });
  return found;
}

/** Says why the host has no address. Null when it has an address or is an IP address. */
export function nameProblem(host: string, names: FoundNames): string | null {
  const found = names.get(host);
  return found !== undefined && 'problem' in found ? `${host} cannot be resolved: ${found.problem}` : null;
}

/** The hosts in a URL of NATS servers that are names, not IP addresses. */
export function namesOfServers(url: string): string[] {
  return parseNatsServers(url).hosts.filter((host) => isIP(host) === 0);
}

/**
 * The URL with only the servers that have an address; null when none has an address. The other
 * servers are left out, because the client would look up their names again, slowly and in vain.
 *
 * If one server in the URL carries the credentials for all servers, no server is left out.
 *
 * @param url URL of NATS servers, separated by commas
 */
export function resolvedServers(url: string, names: FoundNames): string | null {
  const { credentials } = parseNatsServers(url);
  const known = url
    .split(',')
    .filter((server) =>
      parseNatsServers(server.trim()).hosts.every((host) => nameProblem(host, names) === null),
    );
  if (known.length === 0) return null;
  return credentials === null ? known.join() : url;
}
