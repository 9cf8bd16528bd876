import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';

/**
 * What connections trust: the authorities that Node was told to (its own list, with `--use-system-ca` the system's
 * store too, `NODE_EXTRA_CA_CERTS`), and `further` ones, PEM.
 *
 * To be made once: without further ones it takes some 30 ms, with them some 200 ms, as the whole list is
 * read again.
 */
export function trustedContext(further: readonly string[] = []): SecureContext {
  if (further.length === 0) return createSecureContext();
  return createSecureContext({ ca: [...new Set([...getCACertificates('default'), ...further])] });
}

const SYSTEM_STORE_FLAGS = ['--use-system-ca', '--use-openssl-ca'];

/** Whether this process was started so that it trusts the certificate store of the system: it cannot be told later. */
export function trustsSystemStore({ execArgv, env } = process): boolean {
  const flags = [...execArgv, ...(env.NODE_OPTIONS ?? '').split(/\s+/)];
  return env.NODE_USE_SYSTEM_CA === '1' || SYSTEM_STORE_FLAGS.some((flag) => flags.includes(flag));
}

/** For the log of a process that was started otherwise. */
export const SYSTEM_STORE_UNUSED =
  'started without --use-system-ca: authorities that only the certificate store of the system has are not trusted';
