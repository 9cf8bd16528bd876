import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { messageOf, SvcError } from '@svc/shared/errors.ts';
import { type Command, runOf, type Surroundings, UsageError } from '../../command.ts';
import { lookUpNames } from '../../name-lookups.ts';
import { describeOptions, parseOptions } from '../../options.ts';
import { table } from '../../table.ts';
import { userPath } from '../../write-file.ts';
import { clockFindings } from './clock.ts';
import { databaseFindings } from './database.ts';
import { diskFindings } from './disk.ts';
import { fileFindings } from './files.ts';
import { type Finding, type Role, subjectOf } from './finding.ts';
import { natsFindings } from './nats.ts';
import { dnsFindings, egressFindings, namesOf } from './network.ts';
import { processFindings } from './of-process.ts';
import { startFileFindings } from './start-files.ts';
import { tlsFindings } from './tls.ts';

const OPTIONS = {
  'env-file': {
    value: 'FILE',
    repeats: true,
    description:
      'take settings from this file, before the settings of the environment; the last of several files counts',
  },
  'clock-from': {
    value: 'URL',
    description: 'compare the clock with this HTTP server (the default: SVC_BASE_URL)',
  },
  json: { description: 'write JSON' },
} as const;

export const doctorCommand: Command = {
  help: `Usage: npm run svc -- doctor coordinator|agent [options]

Looks at this machine as the coordinator or an agent with these settings would find it: Node.js and open files, settings, files with
secrets (their modes, and whether they can be used), disk, PostgreSQL, names, NATS (it connects, and tries what the key may do and what
it must not), certificates, the clock, and what must be reached. Each finding says what to do. A service that runs meanwhile is not
disturbed. Call it as root, or as the user of the service where that user may read the files of settings: root can read every file, also one
that the service cannot.

Exit code: 0 nothing failed (there may be warnings); 1 something failed; 2 the command is wrong.

Options:
${describeOptions(OPTIONS)}

Settings, from the environment or the file: the settings of the coordinator or of the agent ("npm run coordinator -- --help").
`,
  run: runOf('doctor', {
    coordinator: (args, surroundings) => runDoctor('coordinator', args, surroundings),
    agent: (args, surroundings) => runDoctor('agent', args, surroundings),
  }),
};

async function runDoctor(role: Role, args: readonly string[], surroundings: Surroundings): Promise<void> {
  const given = parseOptions(args, OPTIONS);
  const envFiles = (given['env-file'] ?? []).map((file) => userPath(file, surroundings.environment));
  const environment = Object.assign({}, surroundings.environment, ...envFiles.map(settingsIn));
  const findings = await examine(role, environment, envFiles, given['clock-from'] ?? null);
  const count = findings.filter(({ level }) => level === 'failed').length;
  surroundings.out.write(
    given.json ? `${JSON.stringify({ healthy: count === 0, findings }, null, 2)}\n` : shown(findings),
  );
  if (count > 0) throw new SvcError('not-healthy', `${count} of ${findings.length} checks failed`);
}

async function examine(
  role: Role,
  environment: NodeJS.ProcessEnv,
  envFiles: readonly string[],
  clockFrom: string | null,
): Promise<Finding[]> {
  const { subject, findings } = subjectOf(role, environment);
  const before = [...processFindings(subject), ...findings];
  if (subject === null) return before;
  const base = environment.SVC_BASE_URL;
  const clockUrl = clockFrom ?? (base ? `${base.replace(/\/+$/, '')}/healthz` : null);
  const names = lookUpNames(namesOf(subject, clockUrl));
  const found = await Promise.all([
    fileFindings(subject, envFiles),
    startFileFindings(subject),
    diskFindings(subject),
    databaseFindings(subject),
    dnsFindings(subject, names),
    names.then((known) => natsFindings(subject, known)),
    names.then((known) => tlsFindings(subject, Date.now(), known)),
    names.then((known) => clockFindings(clockUrl, known)),
    names.then((known) => egressFindings(subject, known)),
  ]);
  return [...before, ...found.flat()];
}

function settingsIn(path: string): NodeJS.ProcessEnv {
  try {
    return parseEnv(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new UsageError(`cannot read --env-file ${path}: ${messageOf(error)}`, { cause: error });
  }
}

function shown(findings: readonly Finding[]): string {
  const rows = findings.flatMap(({ check, level, what, todo }) => [
    [check, level === 'failed' ? 'FAILED' : level, what],
    ...(todo === '' ? [] : [['', '', `→ ${todo}`]]),
  ]);
  return table(rows);
}
