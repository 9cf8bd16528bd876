import { asciiDomainName } from '@svc/shared/address.ts';
import {
  evaluateRecords,
  isOpen,
  judgeRecords,
  type ObservedRecords,
} from '@svc/shared/assertions/records.ts';
import { messageOf } from '@svc/shared/errors.ts';
import { LIMITS } from '@svc/shared/limits.ts';
import type { DnsCheck, RecordType } from '@svc/shared/messages/check.ts';
import { onAbort } from '@svc/shared/waiting.ts';
import { brokenChain, circleIn, MAX_CHAIN, recordsOf, textOf } from '../../dns/answers.ts';
import { DnsClient, doublingWaits } from '../../dns/client.ts';
import type { AskPolicy, DnsReply } from '../../dns/open-question.ts';
import { canonicalName, DnsFormatError, type DnsMessage, type DnsQuestion, RCODE } from '../../dns/packet.ts';
import type { Cancel } from '../../dns/query.ts';
import { parseServer } from '../../dns/servers.ts';
import { SystemFiles } from '../../resolve/system-files.ts';
import type { Probe, ProbeContext, ProbeOutcome } from '../probe.ts';

export type DnsProbeOptions = {
  /**
   * Resolvers as the operator wrote them (`10.0.0.53`, `10.0.0.53:5353`, `[fd00::53]:53`), or `system`:
   * the resolvers in the system's resolv.conf at the time of the check. The egress rules do not apply to
   * resolvers, because the operator chooses them. On some clouds, the system's resolver is link-local.
   */
  servers: readonly string[] | 'system';
};

/** Longest wait before an unanswered query is repeated, ms. */
const LONGEST_WAIT_MS = 5_000;

/** A monitor without assertions requires that the name has a record of one of these types. */
const ADDRESS_TYPES: readonly RecordType[] = ['A', 'AAAA'];

/**
 * Creates the DNS probe. It asks for all asserted record types at once and judges the answers.
 *
 * For a name that exists but has no records of a type, assertions see an empty set.
 * A name that does not exist is a failure whatever is asserted. So are aliases in a
 * circle, SERVFAIL and silence. Latency ends with the last answer that was needed.
 *
 * @throws TypeError when a server is not valid, or the list is empty
 */
export function createDnsProbe(options: DnsProbeOptions): Probe<DnsCheck> {
  const client = new DnsClient();
  const servers = serversOf(options.servers);
  return {
    run: (check, context) =>
      new Promise((settle) => new Lookup(check, context, client, settle).start(servers())),
    close: () => client.close(),
  };
}

function serversOf(servers: DnsProbeOptions['servers']): () => AskPolicy['servers'] {
  if (servers === 'system') {
    const system = new SystemFiles();
    return () => system.resolvConf.servers;
  }
  if (servers.length === 0) throw new TypeError('no DNS server given');
  const parsed = servers.map(parseServer);
  return () => parsed;
}

type Failure = { message: string } & Pick<ProbeOutcome, 'timedOut' | 'notConnected'>;

/**
 * One attempt of the DNS probe. It asks one question for each record type, and
 * further questions along a chain of aliases. The first call of `#finish` ends it.
 */
class Lookup {
  readonly #check: DnsCheck;
  readonly #context: ProbeContext;
  readonly #client: DnsClient;
  readonly #settle: (outcome: ProbeOutcome) => void;
  readonly #types: readonly RecordType[];
  readonly #startedAt = performance.now();
  readonly #seen: { -readonly [T in keyof ObservedRecords]: ObservedRecords[T] } = {};
  readonly #questions: Cancel[] = [];
  #servers: AskPolicy['servers'] = [];
  /** The monitor's name in canonical form. */
  #name = '';
  /** Number of CNAME links that were known when the last question about aliases was asked. */
  #links = 0;
  #unanswered: number;
  /**
   * The failure to report if no address is found, in an attempt without assertions: that of the first
   * question that failed, or an NXDOMAIN. The attempt asks for A and AAAA, and one answer is enough.
   */
  #failure: Failure | undefined;
  #unregister: () => void = () => {};
  #isDone = false;

  constructor(
    check: DnsCheck,
    context: ProbeContext,
    client: DnsClient,
    settle: (outcome: ProbeOutcome) => void,
  ) {
    this.#check = check;
    this.#context = context;
    this.#client = client;
    this.#settle = settle;
    const asserted = new Set(check.record_assertions.map((assertion) => assertion.record));
    this.#types = asserted.size > 0 ? [...asserted] : ADDRESS_TYPES;
    this.#unanswered = this.#types.length;
  }

  start(servers: AskPolicy['servers']): void {
    this.#servers = servers;
    try {
      this.#name = questionName(this.#check.uri.trim());
    } catch (error) {
      this.#fail({ message: `not a domain name: ${messageOf(error)}` });
      return;
    }
    this.#unregister = onAbort(this.#context.signal, () =>
      this.#finish({ outcome: 'not_run', reason: 'shutting-down' }),
    );
    if (this.#isDone) return;
    for (const type of this.#types) this.#askFor({ name: this.#name, type });
  }

  #askFor(question: DnsQuestion): void {
    const { timeoutMs } = this.#context;
    const policy = {
      servers: this.#servers,
      // Even a short time-out leaves room for a second try, because one lost datagram is not an outage.
      waitMs: doublingWaits(Math.min(LONGEST_WAIT_MS, timeoutMs / 4)),
      tries: Number.POSITIVE_INFINITY,
      timeoutMs: Math.max(0, this.#startedAt + timeoutMs - performance.now()),
    };
    this.#questions.push(
      this.#client.askServers(question, policy, (reply) => this.#replied(question, reply)),
    );
  }

  #replied(question: DnsQuestion, reply: DnsReply): void {
    if (this.#isDone) return;
    switch (reply.kind) {
      case 'answer':
        this.#answered(question, reply.message);
        return;
      case 'failed':
        this.#lost({
          message: `asking for ${question.type} of ${question.name} failed: ${reply.why}`,
          notConnected: true,
        });
        return;
      case 'silent': {
        const within = `within ${this.#context.timeoutMs} ms`;
        const message = `asking for ${question.type} of ${question.name}: ${reply.why} ${within}`;
        this.#lost({ message, timedOut: true });
        return;
      }
      case 'unreachable': {
        const message = `the agent cannot reach any name server: ${reply.why}`;
        this.#finish({ outcome: 'not_run', reason: 'network-down', errorMessage: bounded(message) });
        return;
      }
      case 'unable':
        this.#finish({ outcome: 'not_run', reason: 'internal-error', errorMessage: bounded(reply.why) });
        return;
      default:
        reply satisfies never;
    }
  }

  #answered({ name, type }: DnsQuestion, message: DnsMessage): void {
    // When the name is not the monitor's own, it is the end of a CNAME
    // chain. The links of the chain exist even when that name does not.
    if (message.rcode === RCODE.noSuchName && name === this.#name) {
      this.#unknownName(message);
      return;
    }
    const found = recordsOf(message, name, type).map(textOf);
    const seen = [...(this.#seen[type] ?? []), ...found];
    this.#seen[type] = seen;
    const broken = this.#brokenChain({ name, type }, message, found, seen);
    if (broken !== null) {
      this.#lost({ message: `${this.#name} leads to no record: ${broken}` });
      return;
    }
    const next = type === 'CNAME' ? this.#nextLink(seen) : undefined;
    if (next !== undefined) {
      this.#askFor({ name: next, type });
      return;
    }
    this.#unanswered -= 1;
    this.#judge();
  }

  /**
   * Says why the aliases can lead to no record: they form a circle, or are too many. Null when
   * neither is the case, or when records of another type than CNAME were found. Such aliases
   * are a failure whatever is asserted.
   */
  #brokenChain(
    { name, type }: DnsQuestion,
    message: DnsMessage,
    found: readonly string[],
    seen: readonly string[],
  ): string | null {
    // For CNAME, each link of a circle arrives in a separate answer.
    if (type === 'CNAME') return circleIn([this.#name, ...seen]);
    return found.length > 0 ? null : brokenChain(message, name);
  }

  /**
   * The next name to ask for: an answer about aliases may hold only one link, and the name that
   * it leads to may be an alias too. Undefined when there is no new name, when there are
   * {@link MAX_CHAIN} links, or when no CNAME assertion needs a further link.
   */
  #nextLink(seen: readonly string[]): string | undefined {
    const target = seen.at(-1);
    const isNew = target !== undefined && target !== this.#name && seen.indexOf(target) === seen.length - 1;
    if (!isNew || seen.length >= MAX_CHAIN || seen.length === this.#links) return undefined;
    this.#links = seen.length;
    const assertions = this.#check.record_assertions.filter(({ record }) => record === 'CNAME');
    return assertions.some((assertion) => isOpen(assertion, seen)) ? target : undefined;
  }

  /**
   * Handles NXDOMAIN for the monitor's name. Some servers wrongly answer NXDOMAIN for AAAA when the
   * name has only an A record (RFC 4074, section 4.2), so without assertions an A record is enough.
   */
  #unknownName(message: DnsMessage): void {
    const aliases = recordsOf(message, this.#name, 'CNAME').map(textOf);
    const name = aliases.at(-1) ?? this.#name;
    const through = name === this.#name ? '' : `, to which ${this.#name} leads`;
    this.#failure = undefined;
    this.#lost({ message: `no such name: ${name} (NXDOMAIN)${through}` });
  }

  #lost(failure: Failure): void {
    this.#unanswered -= 1;
    if (this.#check.record_assertions.length > 0) this.#fail(failure);
    else {
      this.#failure ??= failure;
      this.#judge();
    }
  }

  #judge(): void {
    const assertions = this.#check.record_assertions;
    if (assertions.length === 0) {
      // One address is enough, whichever answer has it.
      if (ADDRESS_TYPES.some((type) => (this.#seen[type]?.length ?? 0) > 0))
        this.#finish({ outcome: 'passed' });
      else if (this.#unanswered === 0) {
        this.#fail(this.#failure ?? { message: 'expected an A or AAAA record, saw none' });
      }
      return;
    }
    if (this.#unanswered > 0) return;
    const failure = evaluateRecords(assertions, this.#seen);
    const judged =
      this.#context.judgesEach === true ? { assertions: judgeRecords(assertions, this.#seen) } : {};
    if (failure === undefined) this.#finish({ outcome: 'passed', ...judged });
    else this.#fail({ message: failure, ...judged });
  }

  #fail({ message, ...more }: Failure): void {
    this.#finish({ outcome: 'failed', errorMessage: bounded(message), ...more });
  }

  #finish(verdict: Omit<ProbeOutcome, 'latency' | 'phases'>): void {
    if (this.#isDone) return;
    this.#isDone = true;
    const latency = performance.now() - this.#startedAt;
    this.#unregister();
    for (const cancel of this.#questions) cancel();
    this.#settle({ ...verdict, latency, phases: { dns: latency } });
  }
}

/** @throws DnsFormatError when DNS cannot carry the name */
function questionName(name: string): string {
  const ascii = asciiDomainName(name);
  if (ascii === null || ascii === '') throw new DnsFormatError('DNS cannot carry the name');
  return canonicalName(ascii);
}

const bounded = (message: string): string => message.slice(0, LIMITS.errorMessage);
