import { isIP } from 'node:net';
import { parseServer, type ServerAddress } from '../dns/servers.ts';

/** The parts of resolv.conf(5) that svc uses. Others, such as `sortlist` and `options edns0`, are ignored. */
export type ResolvConf = {
  servers: readonly ServerAddress[];
  /**
   * Suffixes that are appended to a name ({@link candidateNames}),
   * in lower case without a leading or trailing dot.
   */
  search: readonly string[];
  /** Number of dots from which a name is first queried as it is written. */
  ndots: number;
  /** Longest wait between two tries, ms. */
  timeoutMs: number;
  /** A question about one name takes at most `timeoutMs` × `attempts` × number of servers. */
  attempts: number;
  /** Whether each look-up starts with the next server of the list. */
  rotate: boolean;
  /** Whether AAAA records are never queried. */
  noAaaa: boolean;
};

const MAX_SERVERS = 3;

/**
 * Reads resolv.conf(5) with the defaults and maxima of glibc. Lines that make no sense are
 * ignored, as glibc does. A server may have a port, `[10.0.0.53]:5353`, as on the BSDs.
 *
 * @param hostname name of this machine; the part after its
 *   first dot is the search list when the file has none
 */
export function parseResolvConf(text: string, hostname: string): ResolvConf {
  const servers: ServerAddress[] = [];
  const dot = hostname.indexOf('.');
  let search = dot < 0 ? [] : [hostname.slice(dot + 1)];
  const options = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [written = ''] = line.split(/[#;]/, 1);
    const [keyword, ...values] = written.trim().split(/\s+/);
    if (keyword === 'nameserver' && values[0] !== undefined) {
      const server = serverOf(values[0]);
      if (server !== null && servers.length < MAX_SERVERS) servers.push(server);
    } else if (keyword === 'domain' && values[0] !== undefined) search = [values[0]];
    else if (keyword === 'search') search = values;
    else if (keyword === 'options') {
      for (const value of values) {
        const [name = '', setting = ''] = value.split(':');
        options.set(name, setting);
      }
    }
  }
  const number = (name: string, usual: number, least: number, most: number): number => {
    const text = options.get(name) ?? '';
    return /^\d+$/.test(text) ? Math.min(most, Math.max(least, Number(text))) : usual;
  };
  return {
    servers: servers.length > 0 ? servers : [{ host: '127.0.0.1', port: 53 }],
    search: search
      .map((suffix) => suffix.replace(/^\.|\.$/g, '').toLowerCase())
      .filter((suffix) => suffix !== ''),
    ndots: number('ndots', 1, 0, 15),
    timeoutMs: number('timeout', 5, 1, 30) * 1_000,
    attempts: number('attempts', 2, 1, 5),
    rotate: options.has('rotate'),
    noAaaa: options.has('no-aaaa'),
  };
}

/**
 * The names to query, in order, as in res_search(3). A name with a trailing dot is queried only as it is
 * written. A name with at least `ndots` dots is queried first as it is written, and then with the suffixes of
 * the search list. For other names, the suffixes come first.
 */
export function candidateNames(
  host: string,
  { search, ndots }: Pick<ResolvConf, 'search' | 'ndots'>,
): string[] {
  if (host.endsWith('.')) return [host.slice(0, -1)];
  const dots = host.split('.').length - 1;
  const searched = search.map((suffix) => `${host}.${suffix}`);
  return dots >= ndots ? [host, ...searched] : [...searched, host];
}

function serverOf(text: string): ServerAddress | null {
  const bracketedV4 = /^\[([\d.]+)\](:\d+)?$/.exec(text);
  try {
    if (bracketedV4 !== null) return parseServer(`${bracketedV4[1]}${bracketedV4[2] ?? ''}`);
    return isIP(text) !== 0 || text.startsWith('[') ? parseServer(text) : null;
  } catch {
    // The text is not a server. The system's resolver ignores such a line too.
    return null;
  }
}
