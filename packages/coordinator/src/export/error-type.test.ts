import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ERROR_TYPES, type ErrorType, errorTypeOf } from './error-type.ts';

const PAGE = readFileSync(new URL('../../../../docs/failures.md', import.meta.url), 'utf8');

/** The messages of the page, by heading. `…` stands for a variable part. */
const MESSAGES = PAGE.split('\n## ')
  .slice(1)
  .flatMap((part) => {
    const [heading = ''] = part.split('\n');
    return [...part.matchAll(/^\| `([^`]+)` \|/gm)].map(([, message = '']): [string, string] => [
      heading,
      message,
    ]);
  });

/** The type of the messages of a section, where no other type is given. */
const USUAL: Readonly<Record<string, ErrorType>> = {
  'Names (HTTP and TCP)': 'name_resolution',
  'Connections (HTTP and TCP)': 'connection',
  TLS: 'certificate',
  'HTTP answers': 'protocol',
  'HTTP/2': 'protocol',
  Proxies: 'proxy',
  Redirects: 'redirect',
  Assertions: 'assertion',
  Declarations: '_OTHER',
  'DNS monitors': 'name_resolution',
};

function expected(heading: string, message: string): ErrorType {
  if (/^timed out|not resolved within|no connection within|: … within … ms$/.test(message)) return 'timeout';
  if (/TLS handshake|\(ALPN\)$/.test(message)) return 'tls';
  if (message.startsWith('expected ')) return 'assertion';
  if (message.startsWith('not a domain name')) return 'name_resolution';
  return USUAL[heading] ?? '_OTHER';
}

describe('error.type of each message that docs/failures.md has', () => {
  test('the page has messages', () => {
    expect(MESSAGES.length).toBeGreaterThan(60);
    expect(Object.keys(USUAL)).toEqual([...new Set(MESSAGES.map(([heading]) => heading))]);
  });

  test.each(MESSAGES)('%s: %s', (heading, message) => {
    const type = errorTypeOf(message.replaceAll('…', '12'), false);
    expect(ERROR_TYPES).toContain(type);
    expect(type).toBe(expected(heading, message));
  });
});

test.each([
  ['whatever it says, a time-out is one', 'something', true, 'timeout'],
  ['what nobody knows', 'something', false, '_OTHER'],
  ['no message', undefined, false, '_OTHER'],
] as const)('%s', (_name, message, timedOut, type) => {
  expect(errorTypeOf(message, timedOut)).toBe(type);
});
