import { isIP } from 'node:net';
import { asciiDomainName } from '@svc/shared/address.ts';
import { SvcError } from '@svc/shared/errors.ts';
import { onAbort } from '@svc/shared/waiting.ts';
import { afterReading } from '../deadline.ts';
import { recordsOf, textOf } from '../dns/answers.ts';
import { DnsClient, doublingWaits } from '../dns/client.ts';
import type { AskPolicy, DnsReply } from '../dns/open-question.ts';
import { canonicalName, DnsFormatError, RCODE } from '../dns/packet.ts';
import type { Cancel } from '../dns/query.ts';
import { candidateNames, type ResolvConf } from './resolv-conf.ts';
import { type ResolvedAddress, ResolveError, type Resolver } from './resolver.ts';
import { SYSTEM_FILES, type SystemFilePaths, SystemFiles } from './system-files.ts';

/**
 * Creates a resolver that follows the system's hosts file and resolv.conf, with its own DNS client.
 *
 * Nothing is cached between look-ups, so that every check measures DNS as it is (decision 0030). Look-ups of
 * one name at the same time share their queries. The resolver does not follow nsswitch.conf (the order is
 * always files, then dns), multicast DNS, or LOCALDOMAIN and RES_OPTIONS in the environment.
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

  /**
   * The addresses of a host that needs no query: a numeric address, a name in the
   * hosts file, or localhost (RFC 6761, section 6.3). Null for any other host.
   */
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

/** One look-up. It asks for the candidate names of the host one after the other, as res_search(3) does. */
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

  /** Drops the queries in progress. {@link run} then stays unsettled, unless its result was there already. */
  cancel(): void {
    this.#isCancelled = true;
    this.#cancel();
  }

  async run(): Promise<ResolvedAddress[]> {
    let reason: NotFound | undefined;
    for (const name of this.#names()) {
      const result = await this.#askFor(name);
      if (result.kind === 'found') return result.addresses;
      // The search ends, because the servers would not answer for the other candidate names either.
      if (result.kind === 'silent' || result.kind === 'unreachable' || result.kind === 'unable') {
        throw this.#error(result);
      }
      if (result.kind !== 'no-name') reason ??= result;
    }
    throw this.#error(reason ?? { kind: 'no-name' });
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

  #askFor(name: string): Promise<AddressLookupResult> {
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

/**
 * Whether the text is a canonical name. The suffixes of the search
 * list come from a file, so a candidate name may be invalid.
 */
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

/** How long IPv4 addresses wait for IPv6 addresses that are still to come (RFC 8305, section 3). */
const RESOLUTION_DELAY_MS = 50;

type AddressLookupResult =
  | { kind: 'found'; addresses: ResolvedAddress[] }
  /** The servers know that the name does not exist, or that it has no addresses. */
  | { kind: 'no-name' | 'no-address' }
  /** Each `kind` has the same meaning as in {@link DnsReply}. */
  | { kind: 'failed' | 'silent' | 'unreachable' | 'unable'; why: string };

/**
 * Asks for the addresses of one full name, of all families at the same time. `settle` is called once,
 * after this function has returned, unless the returned function cancels the look-up before.
 *
 * @param name canonical name
 */
function lookUpAddresses(
  client: DnsClient,
  name: string,
  policy: AskPolicy,
  families: readonly (4 | 6)[],
  settle: (result: AddressLookupResult) => void,
): Cancel {
  const replies = new Map<4 | 6, DnsReply>();
  const cancels: Cancel[] = [];
  let delay: NodeJS.Timeout | undefined;
  let isOver = false;

  const cancel = () => {
    isOver = true;
    clearTimeout(delay);
    for (const cancelOne of cancels) cancelOne();
  };
  const finish = () => {
    if (isOver) return;
    cancel();
    settle(resultOf(name, replies));
  };
  for (const family of families) {
    const type = family === 4 ? 'A' : 'AAAA';
    const replied = (reply: DnsReply) => {
      replies.set(family, reply);
      if (replies.size === families.length || isUnknownName(family, reply)) finish();
      // IPv6 addresses alone never end the look-up: where IPv6
      // is broken, only IPv4 makes a connection possible.
      else if (family === 4 && addressesIn(name, 4, reply).length > 0) {
        // An IPv6 answer that came within the delay may still be unread.
        delay = setTimeout(() => afterReading(finish), RESOLUTION_DELAY_MS);
      }
    };
    cancels.push(client.askServers({ name, type }, policy, replied));
  }
  return cancel;
}

/**
 * Whether an answer says that the name does not exist. Only the answer about A counts:
 * some servers wrongly say so in their answer about AAAA (RFC 4074, section 4.2).
 */
function isUnknownName(family: 4 | 6, reply: DnsReply): boolean {
  return family === 4 && reply.kind === 'answer' && reply.message.rcode === RCODE.noSuchName;
}

function resultOf(name: string, replies: ReadonlyMap<4 | 6, DnsReply>): AddressLookupResult {
  const addresses = interleave(addressesIn(name, 6, replies.get(6)), addressesIn(name, 4, replies.get(4)));
  if (addresses.length > 0) return { kind: 'found', addresses };
  for (const reply of replies.values()) if (reply.kind !== 'answer') return reply;
  const isUnknown = [...replies].some(([family, reply]) => isUnknownName(family, reply));
  return { kind: isUnknown ? 'no-name' : 'no-address' };
}

function addressesIn(name: string, family: 4 | 6, reply: DnsReply | undefined): ResolvedAddress[] {
  if (reply?.kind !== 'answer') return [];
  const records = recordsOf(reply.message, name, family === 4 ? 'A' : 'AAAA');
  return records.map((record) => ({ address: textOf(record), family }));
}

/** Merges the two lists alternately, beginning with `first` (RFC 8305, section 4). */
function interleave(
  first: readonly ResolvedAddress[],
  second: readonly ResolvedAddress[],
): ResolvedAddress[] {
  const mixed: ResolvedAddress[] = [];
  for (let index = 0; index < Math.max(first.length, second.length); index += 1) {
    for (const list of [first, second]) {
      const address = list[index];
      if (address !== undefined) mixed.push(address);
    }
  }
  return mixed;
}

/**
 * Reads the old spellings of IPv4 addresses that the system's resolver accepts (inet_aton(3)): one to four
 * parts, each decimal, octal (`0177`) or hexadecimal (`0x7f`). The last part fills the remaining bytes:
 * `127.1`, `0x7f000001`, `2130706433`.
 *
 * @returns the dotted form, or null when `text` is none of these
 */
export function numericAddress(text: string): string | null {
  const parts = text.split('.');
  if (parts.length > 4) return null;
  const numbers = parts.map(numberOf);
  const last = numbers.pop() ?? Number.NaN;
  if (!numbers.every((number) => number <= 0xff) || !(last < 256 ** (4 - numbers.length))) return null;
  const value = numbers.reduce((sum, number, index) => sum + number * 256 ** (3 - index), last);
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');
}

function numberOf(part: string): number {
  if (/^0x[0-9a-f]+$/i.test(part)) return Number.parseInt(part, 16);
  if (/^0[0-7]+$/.test(part)) return Number.parseInt(part, 8);
  return /^(0|[1-9]\d*)$/.test(part) ? Number(part) : Number.NaN;
}
