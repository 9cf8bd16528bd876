import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { localFailureOf } from '../local-failure.ts';
import { parseResolvConf, type ResolvConf } from './resolv-conf.ts';
import type { ResolvedAddress } from './resolver.ts';

export type SystemFilePaths = { hosts: string; resolvConf: string };

export const SYSTEM_FILES: SystemFilePaths = { hosts: '/etc/hosts', resolvConf: '/etc/resolv.conf' };

/** Age after which the next look-up checks the files again, ms. */
const LOOK_AGAIN_MS = 1_000;

/**
 * The system's resolver configuration: the hosts file and resolv.conf. They are
 * checked for changes at most once a second, and read again when they have changed.
 * A missing or unreadable file counts as empty, as it does for the system. If a
 * file cannot be read because no descriptors are left, the last contents stay.
 *
 * The system calls are synchronous on purpose. They take some microseconds once a second.
 * Asynchronous calls would wait in the thread pool, which look-ups must not depend on.
 */
export class SystemFiles {
  readonly #paths: SystemFilePaths;
  readonly #now: () => number;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #stamp = '';
  #hosts: HostsFile = new Map();
  #resolvConf: ResolvConf = parseResolvConf('', '');

  /** @param now a monotonic clock, ms */
  constructor(paths: SystemFilePaths = SYSTEM_FILES, now: () => number = () => performance.now()) {
    this.#paths = paths;
    this.#now = now;
  }

  get hosts(): HostsFile {
    this.#refresh();
    return this.#hosts;
  }

  get resolvConf(): ResolvConf {
    this.#refresh();
    return this.#resolvConf;
  }

  #refresh(): void {
    const now = this.#now();
    if (now - this.#lookedAt < LOOK_AGAIN_MS) return;
    this.#lookedAt = now;
    const stamp = `${stampOf(this.#paths.hosts)} ${stampOf(this.#paths.resolvConf)}`;
    if (stamp === this.#stamp) return;
    const hosts = textOf(this.#paths.hosts);
    const resolvConf = textOf(this.#paths.resolvConf);
    if (hosts === null || resolvConf === null) return;
    this.#stamp = stamp;
    this.#hosts = parseHostsFile(hosts);
    this.#resolvConf = parseResolvConf(resolvConf, hostname());
  }
}

function stampOf(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false, bigint: true });
  return stats === undefined ? '-' : `${stats.ino}/${stats.size}/${stats.mtimeNs}`;
}

/**
 * Reads the text of a file. Returns null when no descriptors
 * or memory are left, which may last only a second.
 */
function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    // If neither descriptors nor memory were missing, the file is missing or unreadable, and counts as empty.
    return localFailureOf(code, 4) === 'used-up' ? null : '';
  }
}

/** Addresses by name in lower case, in the file's order. */
type HostsFile = ReadonlyMap<string, readonly ResolvedAddress[]>;

/** Reads hosts(5). Lines whose first word is not an address are ignored. */
export function parseHostsFile(text: string): HostsFile {
  const hosts = new Map<string, ResolvedAddress[]>();
  for (const line of text.split('\n')) {
    const [written = ''] = line.split('#', 1);
    const [address = '', ...names] = written.trim().split(/\s+/);
    const family = isIP(address);
    if (family !== 4 && family !== 6) continue;
    for (const name of names) {
      const key = name.toLowerCase();
      const known = hosts.get(key) ?? [];
      if (!known.some((other) => other.address === address)) known.push({ address, family });
      hosts.set(key, known);
    }
  }
  return hosts;
}
