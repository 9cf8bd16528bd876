import { describe, expect, test } from 'vitest';
import manifest from '../package.json' with { type: 'json' };
import { runCommandLine } from './command-line.ts';

async function svc(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const written = { out: '', err: '' };
  const code = await runCommandLine(args, {
    environment: { SVC_DATA_DIR: '/nowhere' },
    out: { write: (text) => (written.out += text) },
    err: { write: (text) => (written.err += text) },
  });
  return { code, ...written };
}

test('--version prints the version', async () => {
  expect(await svc('--version')).toEqual({ code: 0, out: `${manifest.version}\n`, err: '' });
});

test.each([[['--help']], [['help']]])('%j lists the commands', async (args) => {
  const { code, out, err } = await svc(...args);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toMatch(/ {2}export +write the live configuration/);
});

test('the help of a command lists its options and settings', async () => {
  const { code, out } = await svc('export', '--help');
  expect(code).toBe(0);
  for (const name of ['--format', '--secrets-file', 'SVC_BASE_URL', 'SVC_API_TOKEN_FILE']) {
    expect(out).toContain(name);
  }
});

test.each([
  ['EACCES', 'EACCES: from the system: call it as the user who owns the place, or as root'],
  ['EROFS', 'EROFS: from the system: the place is read-only'],
  ['ENOSPC', 'ENOSPC: from the system: make room on the disk, and call it again'],
  ['EIO', 'EIO: from the system'],
])('the message about the system error %s says what to do, if that is known', async (code, told) => {
  const written: string[] = [];
  const exitCode = await runCommandLine(['--version'], {
    environment: {},
    out: {
      write() {
        throw Object.assign(new Error(`${code}: from the system`), { code });
      },
    },
    err: { write: (text) => written.push(text) },
  });
  expect({ exitCode, written }).toEqual({ exitCode: 1, written: [`svc: ${told}\n`] });
});

test('a database to copy is looked for where the user is', async () => {
  const written: string[] = [];
  const code = await runCommandLine(['migrate-store', '--from', 'sqlite:svc.db', '--to', 'sqlite:copy.db'], {
    environment: { npm_lifecycle_event: 'svc', INIT_CWD: '/nowhere' },
    out: { write: (text) => written.push(text) },
    err: { write: (text) => written.push(text) },
  });
  expect(code).toBe(1);
  expect(written.join('')).toContain('cannot copy /nowhere/svc.db');
});

test.each([
  [{}, '--to is needed where SVC_DATABASE_URL is not set'],
  [{ SVC_DATABASE_URL: 'sqlite:/nowhere/svc.db' }, '--from and --to are the same database'],
])('without --to, a database is copied to that of the settings: %j', async (settings, message) => {
  const written: string[] = [];
  const code = await runCommandLine(['migrate-store', '--from', 'sqlite:/nowhere/svc.db'], {
    environment: settings,
    out: { write: (text) => written.push(text) },
    err: { write: (text) => written.push(text) },
  });
  expect(code).toBe(2);
  expect(written.join('')).toContain(message);
});

describe('a wrong command line is refused, and the message says what is wrong', () => {
  test.each([
    [[], 'the command is missing'],
    [['exprot'], 'there is no command exprot: did you mean export?'],
    [['frobnicate'], 'there is no command frobnicate: see --help'],
    [['--versoin'], 'there is no option --versoin: did you mean --version?'],
    [['constructor'], 'there is no command constructor: see --help'],
    [['export', '--fromat=hcl'], 'there is no option --fromat: did you mean --format?'],
    [['export', '-x'], 'there is no option -x: see --help'],
    [['export', 'file'], 'unexpected argument "file"'],
    [['export', '--format', 'toml'], '--format must be one of yaml, json, hcl, not "toml"'],
    [['export', '--format'], '--format needs a value: yaml|json|hcl'],
    [['export', '--output='], '--output needs a value: FILE'],
    [['export', '--force=yes'], '--force takes no value'],
    [['export', '--secrets', 'inline', '--secrets-file', 'a'], 'exclude each other'],
    [['export'], 'there is no API token: set SVC_API_TOKEN'],
    [['otlp-test'], 'the id of the monitor is missing'],
    [['otlp-test', 'web'], 'the id of the monitor must be a number, not "web"'],
    [['retry', 'ops'], 'the id of the channel must be a number, not "ops"'],
    [['retry', '--all'], 'the id of the channel is missing'],
    [['secret-key', 'rotat'], 'there is no action rotat: did you mean "secret-key rotate"?'],
    [['doctor', 'agnt'], 'there is no action agnt: did you mean "doctor agent"?'],
    [['otlp-test', '1'], 'there is no API token: set SVC_API_TOKEN'],
    [['token', 'rotate'], "cannot read the operator's token in /nowhere/api-token"],
    [['secret-key', 'rotate'], 'there is no key to replace in /nowhere/secret-key'],
    [['doctor', 'agent', '--env-file', '/'], 'cannot read --env-file /: EISDIR'],
  ] as const)('%j', async (args, message) => {
    const { code, out, err } = await svc(...args);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(/^svc: /);
    expect(err).toContain(message);
  });
});
