import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { SELF_SIGNED } from '../../../../test/support/self-signed.ts';
import { describeSettings, readEnvironment, SettingsError, type SettingsTable } from './environment.ts';
import {
  bearerToken,
  certificateFile,
  commaList,
  listenAddress,
  urlOf,
  wholeNumber,
} from './setting-schemas.ts';

const directory = mkdtempSync(join(tmpdir(), 'svc-settings-'));
afterAll(() => rmSync(directory, { recursive: true }));

const table = {
  region: { name: 'SVC_REGION', description: 'Region of this agent.', schema: z.string() },
  concurrency: {
    name: 'SVC_CONCURRENCY',
    description: 'Attempts at once.',
    default: '4000',
    schema: wholeNumber(1, 100_000),
  },
  listen: { name: 'SVC_AGENT_LISTEN', description: 'Health address.', schema: listenAddress.optional() },
  token: {
    name: 'SVC_METRICS_TOKEN',
    description: 'Token of /metrics.',
    schema: z.string().min(8, 'is too short').optional(),
  },
  drainMs: {
    name: 'SVC_DRAIN_MS',
    description: 'Internal.',
    default: '1',
    isInternal: true,
    schema: wholeNumber(0, 9),
  },
} satisfies SettingsTable;

function problems(environment: NodeJS.ProcessEnv): readonly string[] {
  try {
    readEnvironment(table, environment);
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
  return [];
}

function file(name: string, content: string): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}

describe('reading the environment', () => {
  test.each([
    ['http://ops:hunter2@svc.test', 'http://********@svc.test'],
    ['ftp://ops:hun@ter2@svc.test/a', 'ftp://********@svc.test/a'],
    ['http://ops:hunter2@', 'http://********@'],
  ])('what is wrong with %s is told without its credentials', (value, shown) => {
    const [problem] = problems({ SVC_REGION: 'hosta-fra', SVC_AGENT_LISTEN: value });
    expect(problem).toContain(`(got "${shown}")`);
    expect(problem).not.toMatch(/hun.?ter2/);
  });

  test('takes set values, and defaults for unset ones', () => {
    const { values, warnings } = readEnvironment(table, {
      SVC_REGION: 'hosta-fra',
      SVC_AGENT_LISTEN: '[::1]:9100',
    });
    expect(values).toEqual({
      region: 'hosta-fra',
      concurrency: 4000,
      listen: { host: '::1', port: 9100 },
      token: undefined,
      drainMs: 1,
    });
    expect(warnings).toEqual([]);
  });

  test('lists everything that is wrong at once, without showing secrets', () => {
    expect(
      problems({ SVC_CONCURRENCY: '-1', SVC_AGENT_LISTEN: 'here', SVC_METRICS_TOKEN: 'hunter2' }),
    ).toEqual([
      'SVC_REGION is required: Region of this agent.',
      'SVC_CONCURRENCY: must be a whole number from 1 to 100000 (got "-1")',
      'SVC_AGENT_LISTEN: must be host:port, with an IPv6 address in brackets (got "here")',
      'SVC_METRICS_TOKEN: is too short',
    ]);
  });

  test('an empty variable counts as unset', () => {
    expect(problems({ SVC_REGION: '' })).toEqual(['SVC_REGION is required: Region of this agent.']);
    expect(readEnvironment(table, { SVC_REGION: 'r', SVC_CONCURRENCY: '' }).values.concurrency).toBe(4000);
  });

  test('reads a secret from the file that <NAME>_FILE names, without its last line feed', () => {
    const path = file('token', 'correct horse\n');
    const { values, warnings } = readEnvironment(table, { SVC_REGION: 'r', SVC_METRICS_TOKEN_FILE: path });
    expect(values.token?.reveal()).toBe('correct horse');
    expect(JSON.stringify(values)).not.toContain('horse');
    expect(warnings).toEqual([]);
  });

  test.each([
    [
      'both are set',
      { SVC_METRICS_TOKEN: 'correct horse', SVC_METRICS_TOKEN_FILE: '/x' },
      'set either SVC_METRICS_TOKEN or',
    ],
    ['the file is missing', { SVC_METRICS_TOKEN_FILE: join(directory, 'none') }, 'ENOENT'],
    ['the file is empty', { SVC_METRICS_TOKEN_FILE: file('empty', '\n') }, 'the file is empty'],
  ])('refuses a secret file when %s', (_case, environment, message) => {
    const found = problems({ SVC_REGION: 'r', ...environment });
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(message);
  });

  test('a secret in the place of its file name is not repeated', () => {
    expect(problems({ SVC_REGION: 'r', SVC_METRICS_TOKEN_FILE: 'hunter2' })).toEqual([
      'SVC_METRICS_TOKEN_FILE: cannot read the file that it names (ENOENT)',
    ]);
  });

  test('warns of names that no part knows and names the nearest, but not of other parts’ settings', () => {
    const { warnings } = readEnvironment(table, {
      SVC_REGION: 'r',
      SVC_CONCURENCY: '5',
      SVC_SMTP_URL_FILE: '/x',
      SVC_LISTEN: 'x',
      SVC_FRONTEND_SERVICE_HOST: '10.0.0.1',
      HOME: '/',
    });
    expect(warnings).toEqual([
      'SVC_CONCURENCY is not a setting of svc; did you mean SVC_CONCURRENCY?',
      'SVC_FRONTEND_SERVICE_HOST is not a setting of svc',
    ]);
  });
});

test('the help table shows what is required, defaults and file variants, and hides internal settings', () => {
  expect(describeSettings(table)).toBe(
    [
      '  SVC_REGION         Region of this agent. (required)',
      '  SVC_CONCURRENCY    Attempts at once. (default 4000)',
      '  SVC_AGENT_LISTEN   Health address.',
      '  SVC_METRICS_TOKEN  Token of /metrics. (or SVC_METRICS_TOKEN_FILE)',
    ].join('\n'),
  );
});

describe('schemas', () => {
  test.each([
    ['127.0.0.1:0', { host: '127.0.0.1', port: 0 }],
    ['localhost:8080', { host: 'localhost', port: 8080 }],
  ])('listen address %s', (text, address) => expect(listenAddress.parse(text)).toEqual(address));

  test.each(['8080', ':8080', 'a:65536', '::1:80', 'a b:1', ''])('no listen address: "%s"', (text) =>
    expect(listenAddress.safeParse(text).success).toBe(false),
  );

  test('comma list', () => expect(commaList.parse(' a, b,,c ')).toEqual(['a', 'b', 'c']));

  test.each([
    ['t0ken/+=~', true],
    ['two words', false],
    ['tökén', false],
    ['line\n', false],
    ['a'.repeat(1_025), false],
  ])('bearer token "%s": %s', (text, isTaken) => expect(bearerToken.safeParse(text).success).toBe(isTaken));

  test('URL of given protocols', () => {
    expect(urlOf(['http:', 'https:']).safeParse('https://a.example').success).toBe(true);
    expect(urlOf(['http:', 'https:']).safeParse('ftp://a.example').success).toBe(false);
    expect(urlOf(['http:']).safeParse('a.example').success).toBe(false);
  });
});

describe('a file of certificates', () => {
  test('gives what it holds, whatever stands between', () => {
    const path = file('two.pem', `subject=a\n${SELF_SIGNED.cert}\n# b\n${SELF_SIGNED.cert}`);
    expect(certificateFile.parse(path)).toEqual([SELF_SIGNED.cert.trim(), SELF_SIGNED.cert.trim()]);
  });

  test.each([
    ['that is not there', join(directory, 'absent.pem'), /ENOENT/],
    ['without a certificate', file('key.pem', SELF_SIGNED.key), /without a PEM certificate/],
    ['with half of one', file('half.pem', SELF_SIGNED.cert.replace(/(?<=CERTIFICATE-----\n).{64}/, '')), /./],
  ])('%s is refused', (_, path, says) => {
    expect(certificateFile.safeParse(path).error?.issues[0]?.message).toMatch(says);
  });
});
