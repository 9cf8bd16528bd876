import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { ANSWER_MS } from './once-within.ts';

/** The outcome of a lookup: an address, or why there is none. */
export type FoundName = { readonly address: string } | { readonly problem: string };

/** By name. Addresses are no names, and are not in it. */
export type FoundNames = ReadonlyMap<string, FoundName>;

const line = z.object({ name: z.string(), address: z.string().optional(), problem: z.string().optional() });

const LOOKUPS = `
const { lookup } = require('node:dns');
for (const name of process.argv.slice(1))
  lookup(name, (error, address) =>
    console.log(JSON.stringify(error ? { name, problem: error.message } : { name, address })));
`;

/**
 * Looks the names up as every program of this machine does, all at once, for {@link ANSWER_MS} at most. It is done by a process of
 * its own, which is killed then: where no server answers, a lookup takes half a minute, cannot be ended, and holds up the end of its process.
 */
export async function lookUpNames(names: ReadonlySet<string>): Promise<FoundNames> {
  const found = new Map<string, FoundName>();
  if (names.size === 0) return found;
  const child = spawn(process.execPath, ['-e', LOOKUPS, '--', ...names], {
    stdio: ['ignore', 'pipe', 'inherit'],
    // libuv lets lookups have half of its threads.
    env: { ...process.env, NODE_OPTIONS: '', UV_THREADPOOL_SIZE: String(Math.min(1_024, 2 * names.size)) },
  });
  const tooLate = setTimeout(() => child.kill('SIGKILL'), ANSWER_MS);
  for await (const text of createInterface({ input: child.stdout })) {
    const { name, address, problem = 'no address' } = line.parse(JSON.parse(text));
    found.set(name, address === undefined ? { problem } : { address });
  }
  clearTimeout(tooLate);
  for (const name of names)
    if (!found.has(name)) found.set(name, { problem: `no answer within ${ANSWER_MS / 1_000} s` });
  return found;
}

/** Why the host cannot be reached by its name; null: it has an address, or is one. */
export function nameProblem(host: string, names: FoundNames): string | null {
  const found = names.get(host);
  return found !== undefined && 'problem' in found ? `${host} cannot be resolved: ${found.problem}` : null;
}
