import { messageOf } from '@svc/shared/errors.ts';
import { nearest } from '@svc/shared/nearest.ts';
import { SettingsError } from '@svc/shared/settings.ts';
import { forTerminal } from '@svc/shared/terminal.ts';
import { VERSION } from '@svc/shared/version.ts';
import type { Command, CommandBody, Surroundings } from './command.ts';
import { exportCommand } from './export/command.ts';
import { loginCommand, logoutCommand } from './login-command.ts';
import { incidentCommand } from './notes/incident-command.ts';
import { maintenanceCommand } from './notes/maintenance-command.ts';
import { otlpTestCommand } from './otlp-test-command.ts';
import { regionCommand } from './region/command.ts';
import { retryCommand } from './retry-command.ts';
import { secretKeyCommand } from './secret-key-command.ts';
import { statusCommand } from './status/command.ts';
import { tokenCommand } from './token-command.ts';
import { UsageError } from './usage-error.ts';

/** A command whose code is loaded when it is called: it brings much of the coordinator or of the agent along. */
type LaterCommand = Pick<Command, 'summary'> & { load(): Promise<CommandBody> };

const COMMANDS: Readonly<Record<string, Command | LaterCommand>> = {
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
  export: exportCommand,
  incident: incidentCommand,
  login: loginCommand,
  logout: logoutCommand,
  maintenance: maintenanceCommand,
  'otlp-test': otlpTestCommand,
  region: regionCommand,
  restore: {
    summary: 'bring a backup into an empty data folder',
    load: async () => (await import('./machine/backup/commands.ts')).restoreCommand,
  },
  retry: retryCommand,
  'secret-key': secretKeyCommand,
  status: statusCommand,
  token: tokenCommand,
};

/** Exit codes. */
const DONE = 0;
const FAILED = 1;
const MISUSED = 2;

/** Runs one command; never rejects. Answers the exit code. */
export async function runCommandLine(args: readonly string[], surroundings: Surroundings): Promise<number> {
  try {
    await run(args, surroundings);
    return DONE;
  } catch (error) {
    // The message may contain an answer of the API.
    surroundings.err.write(`svc: ${forTerminal(messageOf(error))}\n`);
    return error instanceof UsageError || error instanceof SettingsError ? MISUSED : FAILED;
  }
}

async function run([name, ...args]: readonly string[], surroundings: Surroundings): Promise<void> {
  const { out } = surroundings;
  if (name === '--version') return void out.write(`${VERSION}\n`);
  if (name === '--help' || name === 'help') return void out.write(overview());
  if (name === undefined) throw new UsageError(`the command is missing\n\n${overview()}`);
  const listed = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (listed === undefined) throw new UsageError(unknownCommand(name));
  const command = 'load' in listed ? await listed.load() : listed;
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
