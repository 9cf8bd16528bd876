import { credentialsIn } from '@svc/shared/url-secrets.ts';

/** The operator's SMTP server, to which svc hands its mails. */
export type SmtpRelay = {
  /** Name or IP literal, without brackets. */
  readonly host: string;
  readonly port: number;
  /**
   * When TLS begins: with the connection (`implicit`), by STARTTLS (`starttls`), by STARTTLS if the relay
   * offers it (`offered`), or never (`none`).
   */
  readonly tls: 'implicit' | 'starttls' | 'offered' | 'none';
  /** The user and password that svc logs in with; null: svc does not log in. */
  readonly credentials: { readonly user: string; readonly password: string } | null;
};

/** Ports of RFC 8314. */
const IMPLICIT_TLS_PORT = 465;
const SUBMISSION_PORT = 587;

/**
 * Reads the URL of a relay. `smtps:` is TLS from the start, and `smtp:` requires STARTTLS: if STARTTLS were
 * optional, an attacker on the network could remove the relay's offer. Without TLS, svc sends only to a relay
 * on this machine, or to a relay whose URL has `?starttls=never`. If a password is set for a relay on this
 * machine, svc uses STARTTLS when the relay offers it.
 *
 * @param text `smtp[s]://[user:password@]host[:port][?starttls=required|never]`, with percent-encoding in the
 *   user and the password
 * @throws TypeError that does not repeat the text
 */
export function parseSmtpRelay(text: string): SmtpRelay {
  const url = URL.parse(text);
  if (url === null || !/^smtps?:\/\//i.test(text) || url.hostname === '') {
    throw new TypeError('must be the URL of an SMTP server: smtp[s]://[user:password@]host[:port]');
  }
  if (!['', '/'].includes(url.pathname) || url.hash !== '') {
    throw new TypeError(
      'must end after the port or the query: write / ? # @ in a password as %2F %3F %23 %40',
    );
  }
  if (url.port === '0') throw new TypeError('must not name port 0');
  const credentials = credentialsIn(url);
  if (credentials !== null && (credentials.user === '' || credentials.password === '')) {
    throw new TypeError('must have both a user and a password, or neither');
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const isSecure = url.protocol === 'smtps:';
  const tls = isSecure ? 'implicit' : startTls(url, host, credentials !== null);
  if (isSecure && url.search !== '')
    throw new TypeError('must have no query: smtps:// is TLS from the start');
  const port = url.port === '' ? (isSecure ? IMPLICIT_TLS_PORT : SUBMISSION_PORT) : Number(url.port);
  return { host, port, tls, credentials };
}

function startTls({ search, searchParams }: URL, host: string, logsIn: boolean): SmtpRelay['tls'] {
  if (search === '') {
    if (!isLoopback(host)) return 'starttls';
    return logsIn ? 'offered' : 'none';
  }
  const asked = searchParams.get('starttls');
  if (searchParams.size !== 1 || (asked !== 'required' && asked !== 'never')) {
    throw new TypeError('can have the query ?starttls=required or ?starttls=never only');
  }
  return asked === 'required' ? 'starttls' : 'none';
}

function isLoopback(host: string): boolean {
  return /^(?:localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1)$/i.test(host);
}
