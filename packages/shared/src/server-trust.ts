import {
  checkServerIdentity,
  createSecureContext,
  getCACertificates,
  type PeerCertificate,
  type SecureContext,
} from 'node:tls';
import type { Secret } from './secret.ts';

/** The certificate and key of a client, in PEM, for servers that request a certificate. */
export type ClientIdentity = { readonly cert: string; readonly key: Secret<string> };

/**
 * A TLS context that trusts the authorities of Node (its own list, `NODE_EXTRA_CA_CERTS`, and with
 * `--use-system-ca` the system's store) and the authorities in `further`, in PEM.
 *
 * The first call takes some 30 ms without further authorities and some 200 ms with them, because the whole
 * list is read again. Without an identity and groups, the context is kept: one without further authorities,
 * and one for the last list of further authorities.
 *
 * @param groups groups of the key exchange that are offered, in OpenSSL's notation; default: OpenSSL's own
 *   list
 */
export function trustedContext(
  further: readonly string[] = [],
  identity?: ClientIdentity,
  groups?: string,
): SecureContext {
  if (identity !== undefined || groups !== undefined) {
    const shown = identity === undefined ? {} : { cert: identity.cert, key: identity.key.reveal() };
    return contextWith(groups === undefined ? shown : { ...shown, ecdhCurve: groups }, further);
  }
  if (further.length === 0) {
    nodesOwn ??= contextWith({}, further);
    return nodesOwn;
  }
  if (latest === null || !isEqual(latest.further, further)) {
    latest = { further: [...further], context: contextWith({}, further) };
  }
  return latest.context;
}

/** The context that trusts Node's authorities only. */
let nodesOwn: SecureContext | undefined;
/**
 * The context for the list of further authorities that was used last. Most processes use only one list.
 * Null: no context was made yet.
 */
let latest: { readonly further: readonly string[]; readonly context: SecureContext } | null = null;

function contextWith(
  own: { cert?: string; key?: string; ecdhCurve?: string },
  further: readonly string[],
): SecureContext {
  if (further.length === 0) return createSecureContext(own);
  return createSecureContext({ ...own, ca: [...new Set([...getCACertificates('default'), ...further])] });
}

function isEqual(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((pem, index) => pem === other[index]);
}

const SYSTEM_STORE_FLAGS = ['--use-system-ca', '--use-openssl-ca'];

/**
 * Whether this process trusts the system's certificate store. The trust is chosen when the process
 * starts, and cannot be changed later.
 */
export function trustsSystemStore({ execArgv, env } = process): boolean {
  const flags = [...execArgv, ...(env.NODE_OPTIONS ?? '').split(/\s+/)];
  return env.NODE_USE_SYSTEM_CA === '1' || SYSTEM_STORE_FLAGS.some((flag) => flags.includes(flag));
}

/** Warning for the log of a process that does not trust the system's store. */
export const SYSTEM_STORE_UNUSED =
  "started without --use-system-ca: authorities that are only in the system's certificate store are not trusted";

/**
 * Why the certificate is not for the host, by its subject alternative names; undefined when the certificate
 * is for the host.
 *
 * Node falls back to the common name (CN) when the certificate has no DNS name among its alternative names.
 * Browsers and curl do not (RFC 9525, section 6.3), so Node is given the certificate without its subject.
 * Node also accepts a wildcard that is only a part of a label (`w*.example.com`), which browsers and curl do
 * not. Names with such a wildcard are removed.
 *
 * @param host name or IP literal without brackets
 */
export function checkAlternativeNames(
  host: string,
  { subjectaltname }: Pick<PeerCertificate, 'subjectaltname'>,
): Error | undefined {
  const names = subjectaltname?.includes('*') ? subjectaltname.replace(PARTIAL_WILDCARD, '') : subjectaltname;
  return checkServerIdentity(host, { subjectaltname: names } as PeerCertificate);
}

/** Matches `DNS:w*.example.com`, but not `DNS:*.example.com`. Node puts a name with a comma into quotes. */
const PARTIAL_WILDCARD = /(?<=^|, )DNS:(?!\*\.)[^*,"]*\*[^,"]*(?:, |$)/g;
