import type { Probes } from '@svc/agent/probes/registry.ts';
import type { CheckKind, CheckOf } from '@svc/shared/messages/check.ts';
import type { Phases } from '@svc/shared/messages/check-result.ts';
import { httpCheck } from '../http-check.ts';
import { dnsCheck, tcpCheck } from '../scripted-probe.ts';

/** The facts about one kind of probe that the suites of all kinds use. */
type KindUnderTest<K extends CheckKind> = {
  /**
   * Makes a check.
   *
   * @param target host and port; kinds without a port use only the host
   */
  readonly check: (target: { host: string; port: number }) => CheckOf<K>;
  /**
   * The server that the probe asks. `target`: the probe connects to the target, through
   * the guard of the operator's rules. `name-server`: the probe asks name servers about
   * the target. The operator chose them, so the rules do not apply to them.
   */
  readonly asks: 'target' | 'name-server';
  /**
   * Whether the target gets data before it answers. For a
   * TCP check, the connection itself is the whole answer.
   */
  readonly speaks: boolean;
  /** Parts of the latency of a check that passes at a literal address. */
  readonly phases: readonly (keyof Phases)[];
  /** The message of a time-out about a silent target. */
  readonly silence: RegExp;
  /** A target that this kind can never reach and that nobody can declare, with its message. */
  readonly nonsense: { readonly host: string; readonly says: RegExp };
};

/** The kinds of check. A new kind adds its line here, and must obey every rule of `every-kind.test.ts`. */
const KINDS_UNDER_TEST: { readonly [K in keyof Probes]: KindUnderTest<K> } = {
  http: {
    check: ({ host, port }) => httpCheck({ url: `http://${host}:${port}/` }),
    asks: 'target',
    speaks: true,
    phases: ['connect', 'first_byte', 'transfer'],
    silence: /^timed out after \d+ ms while connecting$/,
    nonsense: { host: '', says: /not a valid http or https URL/ },
  },
  tcp: {
    check: ({ host, port }) => tcpCheck({ uri: `${host}:${port}` }),
    asks: 'target',
    speaks: false,
    phases: ['connect'],
    silence: /^no connection within \d+ ms \(ETIMEDOUT \S+\)$/,
    nonsense: { host: '', says: /not a host:port target/ },
  },
  dns: {
    check: ({ host }) => dnsCheck({ uri: host }),
    asks: 'name-server',
    speaks: true,
    phases: ['dns'],
    silence: /^asking for A of \S+: no answer from \S+ within \d+ ms$/,
    nonsense: { host: 'a..b', says: /not a domain name/ },
  },
};

/** Rows for `describe.each`. */
export const EVERY_KIND = (Object.keys(KINDS_UNDER_TEST) as CheckKind[]).map((kind) => {
  const underTest: { [K in CheckKind]: KindUnderTest<K> }[CheckKind] = KINDS_UNDER_TEST[kind];
  return [kind, underTest] as const;
});
