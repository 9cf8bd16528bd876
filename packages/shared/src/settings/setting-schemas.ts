import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { parseCidrList } from '../egress.ts';
import { messageOf } from '../errors.ts';
import { Secret } from '../secret.ts';

/** Schemas for the text of environment variables. Add `.optional()` when the variable may be unset. */

/** A decimal whole number from `minimum` to `maximum`, both included. */
export function wholeNumber(minimum: number, maximum: number) {
  const message = `must be a whole number from ${minimum} to ${maximum}`;
  return z
    .string()
    .regex(/^\d{1,15}$/, message)
    .transform(Number)
    .refine((value) => value >= minimum && value <= maximum, message);
}

const UNITS_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A length of time with its unit, `90s`, `30m`, `4h` or `1d`, as milliseconds. Both bounds are included. */
export function duration(minimum: string, maximum: string) {
  const parsed = (text: string) => {
    const match = /^(\d{1,9})([smhd])$/.exec(text);
    return match === null ? Number.NaN : Number(match[1]) * UNITS_MS[match[2] as keyof typeof UNITS_MS];
  };
  const message = `must be a whole number and a unit (s, m, h or d), from ${minimum} to ${maximum}`;
  return z
    .string()
    .transform(parsed)
    .refine((ms) => ms >= parsed(minimum) && ms <= parsed(maximum), message);
}

/** A switch: `0` or `1`. */
export const onOff = z.enum(['0', '1'], { error: 'must be 0 or 1' }).transform((text) => text === '1');

/** A list separated by commas. Spaces around items and empty items are dropped. */
export const commaList = z.string().transform((text) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);

export type ListenAddress = { host: string; port: number };

/** An address `host:port`. IPv6 addresses are in brackets, and port 0 lets the system choose the port. */
export const listenAddress = z.string().transform((text, context): ListenAddress => {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]+)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) {
    context.addIssue({ code: 'custom', message: 'must be host:port, with an IPv6 address in brackets' });
    return z.NEVER;
  }
  return { host: match[1] ?? match[2] ?? '', port };
});

/** A URL with one of `protocols` (`['nats:', 'tls:']`). The text of the URL is kept unchanged. */
export function urlOf(protocols: readonly string[]) {
  const message = `must be a URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`;
  return z
    .string()
    .refine((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol), message);
}

/** CIDRs and single addresses, separated by commas. */
export const cidrList = z
  .string()
  .transform((text, context) => orProblem(context, () => parseCidrList(text)));

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * The path of a file with PEM certificates. The file is read at once, and must hold at least one certificate.
 */
export const certificateFile = z.string().transform((path, context) =>
  orProblem(context, () => {
    const certificates = readFileSync(path, 'latin1').match(CERTIFICATE);
    if (certificates === null) throw new TypeError('names a file without a PEM certificate');
    // Each certificate is parsed, because an unreadable certificate would be ignored silently.
    for (const certificate of certificates) new X509Certificate(certificate);
    return certificates as readonly string[];
  }),
);

/**
 * The path of a file with a private key in PEM, without a passphrase. The file is read at
 * once, and the value is secret.
 */
export const privateKeyFile = z.string().transform((path, context) =>
  orProblem(context, () => {
    const text = readFileSync(path, 'latin1');
    // Node's own message may repeat the content of the file.
    if (!isPrivateKey(text))
      throw new TypeError('names a file without a PEM key, or one that asks for a passphrase');
    return new Secret(text);
  }),
);

function isPrivateKey(text: string): boolean {
  try {
    createPrivateKey(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * A token that a header can carry after `Bearer ` (RFC 9110, section 5.5). With any other token,
 * every request would be refused.
 */
export const bearerToken = z
  .string()
  .regex(/^[\u0021-\u007e]{1,1024}$/, 'must be 1 to 1024 printable ASCII characters without spaces');

/** Returns the result of `parse`. An error that `parse` throws becomes the problem with the setting. */
export function orProblem<T>(context: z.core.$RefinementCtx, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    context.addIssue({ code: 'custom', message: messageOf(error) });
    return z.NEVER;
  }
}

/**
 * Hosts separated by commas, in the form that URLs have: in lower case, names in ASCII, IPv6
 * addresses in brackets. `*` is kept.
 */
export const hostList = commaList.transform((hosts, context) =>
  orProblem(context, () =>
    hosts.map((host) => {
      const url = host === '*' || /[/?#@\\\s]/.test(host) ? null : URL.parse(`http://${host}`);
      if (host !== '*' && (url === null || url.port !== '' || /:\d*$/.test(host))) {
        throw new TypeError(`"${host}" is not a host: write names without a scheme or a port, or *`);
      }
      return url?.hostname ?? host;
    }),
  ),
);
