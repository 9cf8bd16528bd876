import { isIP } from 'node:net';
import { asciiDomainName } from '@svc/shared/domain-name.ts';
import { SvcError } from '@svc/shared/errors.ts';
import { onAbort } from '@svc/shared/on-abort.ts';
import { DnsClient, doublingWaits } from '../dns/client.ts';
import type { AskPolicy } from '../dns/open-question.ts';
import { canonicalName, DnsFormatError } from '../dns/packet.ts';
import type { Cancel } from '../dns/query.ts';
import { type AddressLookupResult, interleave, lookUpAddresses } from './address-lookup.ts';
import { numericAddress } from './numeric-address.ts';
import { candidateNames, type ResolvConf } from './resolv-conf.ts';
import { type ResolvedAddress, ResolveError, type Resolver } from './resolver.ts';
import { SYSTEM_FILES, type SystemFilePaths, SystemFiles } from './system-files.ts';

/**
 * Creates a resolver that follows the system's hosts file and resolv.conf, with its own DNS client.
 *
 * Nothing is cached between look-ups, so that every check measures DNS as it is (decision 0030). Look-ups of
 * one name at the same time share their queries. It does not follow nsswitch.conf (the order is always files,
 * then dns), multicast DNS, or LOCALDOMAIN and RES_OPTIONS in the environment.
 */
export function createSystemResolver(paths: SystemFilePaths = SYSTEM_FILES): Resolver {
  return new SystemResolver(paths);
}

const LOOPBACK: readonly ResolvedAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

type Lookup = { result: Promise<ResolvedAddress[]>; waiting: number; cancel: Cancel };

class SystemResolver implements Resolver {
  readonly #client = new DnsClient();
  readonly #files: SystemFiles;
  readonly #running = new Map<string, Lookup>();
  #rotation = 0;
  #isClosed = false;

  constructor(paths: SystemFilePaths) {
    this.#files = new SystemFiles(paths);
  }

  resolve(host: string, signal?: AbortSignal): ResolvedAddress[] | Promise<ResolvedAddress[]> {
    const bare = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
    const family = isIP(bare);
    if (family === 4 || family === 6) return [{ address: bare, family }];
    return this.#known(bare) ?? this.#join(bare, signal);
  }

  isSilentSince(since: number): boolean {
    return this.#client.isSilentSince(since);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#client.close();
  }

  /** Answers that need no query: numeric forms, the hosts file, localhost (RFC 6761, section 6.3). */
  #known(host: string): ResolvedAddress[] | null {
    const numeric = numericAddress(host);
    if (numeric !== null) return [{ address: numeric, family: 4 }];
    const name = host.toLowerCase().replace(/\.$/, '');
    const listed = this.#files.hosts.get(name);
    if (listed !== undefined) return interleave(ofFamily(listed, 6), ofFamily(listed, 4));
    return name === 'localhost' || name.endsWith('.localhost') ? [...LOOPBACK] : null;
  }

  #join(host: string, signal: AbortSignal | undefined): Promise<ResolvedAddress[]> {
    const key = host.toLowerCase();
    const lookup = this.#running.get(key) ?? this.#start(host, key);
    lookup.waiting += 1;
    return new Promise((resolve, reject) => {
      const unregister = onAbort(signal, () => {
        if (--lookup.waiting === 0) {
          this.#running.delete(key);
          lookup.cancel();
        }
        reject(signal?.reason);
      });
      lookup.result.then(resolve, reject).finally(unregister);
    });
  }

  #start(host: string, key: string): Lookup {
    const search = new Search(
      host,
      this.#files.resolvConf,
      this.#client,
      this.#rotation++,
      () => this.#isClosed,
    );
    const result = search.run().finally(() => {
      if (this.#running.get(key) === lookup) this.#running.delete(key);
    });
    const lookup: Lookup = { result, waiting: 0, cancel: () => search.cancel() };
    this.#running.set(key, lookup);
    return lookup;
  }
}

type NotFound = Exclude<AddressLookupResult, { kind: 'found' }>;

/** One look-up: it asks for the name and its search list one after the other, as res_search(3) does. */
class Search {
  readonly #host: string;
  readonly #conf: ResolvConf;
  readonly #client: DnsClient;
  readonly #policy: AskPolicy;
  readonly #isClosed: () => boolean;
  #cancel: Cancel = () => {};
  #isCancelled = false;

  constructor(host: string, conf: ResolvConf, client: DnsClient, rotation: number, isClosed: () => boolean) {
    this.#host = host;
    this.#conf = conf;
    this.#client = client;
    this.#isClosed = isClosed;
    const first = conf.rotate ? rotation % conf.servers.length : 0;
    const servers = [...conf.servers.slice(first), ...conf.servers.slice(0, first)];
    this.#policy = {
      servers,
      waitMs: doublingWaits(conf.timeoutMs),
      tries: Number.POSITIVE_INFINITY,
      timeoutMs: conf.timeoutMs * conf.attempts * servers.length,
    };
  }

  /** Drops the queries in progress. {@link run} then never settles. */
  cancel(): void {
    this.#isCancelled = true;
    this.#cancel();
  }

  async run(): Promise<ResolvedAddress[]> {
    let telling: NotFound | undefined;
    for (const name of this.#names()) {
      const result = await this.#ask(name);
      if (result.kind === 'found') return result.addresses;
      // Silence ends the search, because the other names would meet it too.
      if (result.kind === 'silent' || result.kind === 'unreachable' || result.kind === 'unable') {
        throw this.#error(result);
      }
      if (result.kind !== 'no-name') telling ??= result;
    }
    throw this.#error(telling ?? { kind: 'no-name' });
  }

  #names(): string[] {
    try {
      const ascii = asciiDomainName(this.#host);
      if (ascii === null || ascii === '' || /[\s/\\]/.test(ascii))
        throw new DnsFormatError('not a host name');
      const bare = canonicalName(ascii);
      const names = candidateNames(ascii.endsWith('.') ? `${bare}.` : bare, this.#conf);
      return names.filter((name) => name === bare || isName(name));
    } catch (error) {
      if (error instanceof DnsFormatError)
        throw new ResolveError('EBADNAME', this.#host, error.message, { cause: error });
      throw error;
    }
  }

  #ask(name: string): Promise<AddressLookupResult> {
    const families: readonly (4 | 6)[] = this.#conf.noAaaa ? [4] : [4, 6];
    return new Promise((settle) => {
      if (this.#isCancelled) return;
      this.#cancel = lookUpAddresses(this.#client, name, this.#policy, families, settle);
    });
  }

  #error(result: NotFound): Error {
    switch (result.kind) {
      case 'no-name':
        return new ResolveError('ENOTFOUND', this.#host, 'no such name (NXDOMAIN)');
      case 'no-address':
        return new ResolveError('ENODATA', this.#host, 'the name has no address (neither A nor AAAA)');
      case 'failed':
        return new ResolveError('ESERVFAIL', this.#host, result.why);
      case 'silent':
        return new ResolveError('ETIMEOUT', this.#host, `timed out: ${result.why}`);
      case 'unreachable':
        return new ResolveError(
          'EUNREACHABLE',
          this.#host,
          `the agent cannot reach any name server: ${result.why}`,
        );
      case 'unable':
        if (this.#isClosed()) return new ResolveError('ECANCELLED', this.#host, result.why);
        return new SvcError('ELOOKUP', `cannot look up ${this.#host}: ${result.why}`);
      default:
        return result satisfies never;
    }
  }
}

/** Whether the text is a canonical name. Search suffixes come from a file, and may not make a name. */
function isName(name: string): boolean {
  try {
    return canonicalName(name) === name;
  } catch {
    return false;
  }
}

function ofFamily(addresses: readonly ResolvedAddress[], family: 4 | 6): ResolvedAddress[] {
  return addresses.filter((address) => address.family === family);
}
