import { codeOf, messageOf } from '@svc/shared/errors.ts';
import { SettingsError } from '@svc/shared/settings/environment.ts';
import { nearest } from '@svc/shared/text/nearest.ts';
import { forTerminal } from '@svc/shared/text/terminal.ts';
import { VERSION } from '@svc/shared/version.ts';
import { z } from 'zod';
import { type Command, type Surroundings, UsageError } from './command.ts';

type ListedCommand = {
  /** What the command does, in one line, for the list of commands. */
  readonly summary: string;
  /**
   * Loads the code of the command. It is called only when the command is used, because some commands
   * load much of the coordinator or the agent. The other commands then start in two thirds of the time.
   */
  load(): Promise<Command>;
};

const COMMANDS: Readonly<Record<string, ListedCommand>> = {
  backup: {
    summary: 'copy the data of the coordinator, while it runs',
    load: async () => (await import('./machine/backup/commands.ts')).backupCommand,
  },
  check: {
    summary: 'check a target from the regions, or from this machine, without a monitor',
    load: async () => (await import('./check/command.ts')).checkCommand,
  },
  doctor: {
    summary: 'check settings, NATS, TLS, clock, disk and network of this machine, and say what to do',
    load: async () => (await import('./machine/doctor/command.ts')).doctorCommand,
  },
  export: {
    summary: 'write the live configuration as a declared file or as Terraform',
    load: async () => (await import('./export/command.ts')).exportCommand,
  },
  incident: {
    summary: 'list and acknowledge incidents, and write messages for visitors about them',
    load: async () => (await import('./notes/incident-command.ts')).incidentCommand,
  },
  login: {
    summary: 'keep the address of the API and a token for the other commands; open the dashboard',
    load: async () => (await import('./login-command.ts')).loginCommand,
  },
  logout: {
    summary: 'forget what login keeps',
    load: async () => (await import('./login-command.ts')).logoutCommand,
  },
  maintenance: {
    summary: 'list, schedule, end and remove maintenance windows',
    load: async () => (await import('./notes/maintenance-command.ts')).maintenanceCommand,
  },
  'migrate-store': {
    summary: 'copy the database from SQLite to PostgreSQL, or back',
    load: async () => (await import('./machine/migrate-store.ts')).migrateStoreCommand,
  },
  monitor: {
    summary: 'list the states of monitors; hold the alerts of one for a time',
    load: async () => (await import('./monitor-command.ts')).monitorCommand,
  },
  'otlp-test': {
    summary: "send a monitor's metrics to its OTLP endpoint, and show its answer",
    load: async () => (await import('./otlp-test-command.ts')).otlpTestCommand,
  },
  region: {
    summary: "make, list, replace and remove the NATS keys of regions; write the NATS server's configuration",
    load: async () => (await import('./region/command.ts')).regionCommand,
  },
  restore: {
    summary: 'bring a backup into an empty data folder',
    load: async () => (await import('./machine/backup/commands.ts')).restoreCommand,
  },
  retry: {
    summary: 'send all alerts again that a channel gave up',
    load: async () => (await import('./retry-command.ts')).retryCommand,
  },
  'secret-key': {
    summary: 'replace the key that encrypts stored secrets',
    load: async () => (await import('./secret-key-command.ts')).secretKeyCommand,
  },
  shards: {
    summary: 'change the number of shards of the monitors, while no coordinator runs',
    load: async () => (await import('./machine/shards-command.ts')).shardsCommand,
  },
  status: {
    summary: 'show the state of coordinator, regions, agents, streams, queues, exports and errors',
    load: async () => (await import('./status/command.ts')).statusCommand,
  },
  token: {
    summary: 'list, create and revoke API tokens',
    load: async () => (await import('./token-command.ts')).tokenCommand,
  },
};

/** Exit codes of the program. */
const DONE = 0;
const FAILED = 1;
const MISUSED = 2;

/** Runs one command and returns its exit code. Never rejects. */
export async function runCommandLine(args: readonly string[], surroundings: Surroundings): Promise<number> {
  try {
    await run(args, surroundings);
    return DONE;
  } catch (error) {
    // The message may contain text from an answer of the API, so it is made safe for the terminal.
    surroundings.err.write(`svc: ${forTerminal(textOf(error))}\n`);
    return error instanceof UsageError || error instanceof SettingsError ? MISUSED : FAILED;
  }
}

const AS_OWNER = 'call it as the user who owns the place, or as root';
const MAKE_ROOM = 'make room on the disk, and call it again';

/** What to do about an error of the system, whose message names the path. */
const ADVICE: ReadonlyMap<string, string> = new Map([
  ['EACCES', AS_OWNER],
  ['EPERM', AS_OWNER],
  ['EROFS', 'the place is read-only'],
  ['ENOSPC', MAKE_ROOM],
  ['EDQUOT', MAKE_ROOM],
]);

function textOf(error: unknown): string {
  if (!(error instanceof z.ZodError)) {
    const advice = ADVICE.get(codeOf(error));
    return advice === undefined ? messageOf(error) : `${messageOf(error)}: ${advice}`;
  }
  const faults = error.issues.map(({ path, message }) => [...path, message].join(': '));
  return `an answer is not as this version of svc expects it (${faults.join('; ')}): check the address, and update the older side`;
}

async function run([name, ...args]: readonly string[], surroundings: Surroundings): Promise<void> {
  const { out } = surroundings;
  if (name === '--version') return void out.write(`${VERSION}\n`);
  if (name === '--help' || name === 'help') return void out.write(overview());
  if (name === undefined) throw new UsageError(`the command is missing\n\n${overview()}`);
  const listed = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (listed === undefined) throw new UsageError(unknownCommand(name));
  const command = await listed.load();
  if (args.includes('--help')) return void out.write(command.help);
  await command.run(args, surroundings);
}

function unknownCommand(name: string): string {
  const what = name.startsWith('-') ? 'option' : 'command';
  const meant = nearest(name, [...Object.keys(COMMANDS), '--help', '--version']);
  return `there is no ${what} ${name}: ${meant === null ? 'see --help' : `did you mean ${meant}?`}`;
}

function overview(): string {
  const width = Math.max(...Object.keys(COMMANDS).map(({ length }) => length));
  const commands = Object.entries(COMMANDS).map(
    ([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`,
  );
  return `Usage: npm run svc -- <command> [options]

Commands:
${commands.join('\n')}

npm run svc -- <command> --help explains more. --version prints the version.
`;
}
