import { COORDINATOR_SETTINGS, databaseFileOf } from '@svc/coordinator/config.ts';
import { copyStore } from '@svc/coordinator/store/copy-store.ts';
import { createLogger } from '@svc/shared/log.ts';
import { Secret } from '@svc/shared/secret.ts';
import { readEnvironment } from '@svc/shared/settings/environment.ts';
import { type Command, UsageError } from '../command.ts';
import { describeOptions, parseOptions } from '../options.ts';
import { userPath } from '../write-file.ts';
import { giveToOwner } from './backup/restore.ts';

const OPTIONS = {
  from: {
    value: 'URL',
    description:
      'the database that is copied: sqlite:<path> or postgres://… (the default with --to: SVC_DATABASE_URL)',
  },
  to: {
    value: 'URL',
    description:
      'an empty database: sqlite:<path>, which is made, or postgres://… (the default: SVC_DATABASE_URL)',
  },
} as const;

/** Minimum interval between two lines that report the progress of a copy, ms. */
const SAY_EVERY_MS = 5_000;

export const migrateStoreCommand: Command = {
  help: `Usage: npm run svc -- migrate-store --from URL [--to URL]
       npm run svc -- migrate-store --to URL

Copies all rows of a database into an empty one, from SQLite to PostgreSQL or back, and compares every row of both. Stop the coordinator
first: a database that one uses is refused. An interrupted copy goes on when the command is called again; until it is complete, no
coordinator starts on it. Then set SVC_DATABASE_URL to the copy, and start the coordinator with the same data folder: its
secret key opens the copy too. The database that was copied stays as it is.

A password in an option can be seen in the list of processes. Name a file with the address in SVC_DATABASE_URL_FILE and leave out the
option, or leave out the password and set PGPASSWORD.

Options:
${describeOptions(OPTIONS)}
`,
  async run(args, { environment, err }) {
    const { from, to } = parseOptions(args, OPTIONS);
    if (from === undefined && to === undefined)
      throw new UsageError('--from or --to is needed: see migrate-store --help');
    const target = databaseAt(to ?? databaseOfSettings('--to', environment), environment);
    const source = databaseAt(from ?? databaseOfSettings('--from', environment), environment);
    if (source.reveal() === target.reveal()) throw new UsageError('--from and --to are the same database');
    let saidAt = performance.now();
    const copied = await copyStore({
      from: source,
      to: target,
      log: createLogger('migrate-store', 'silent'),
      onPage(table) {
        if (performance.now() - saidAt < SAY_EVERY_MS) return;
        saidAt = performance.now();
        err.write(`svc: at the table ${table}\n`);
      },
    });
    const file = databaseFileOf(target, '');
    if (file !== null) for (const path of [file, `${file}.lock`]) await giveToOwner(path);
    const rows = Object.values(copied).reduce((sum, count) => sum + count, 0);
    const { monitors = 0, slot_results: results = 0 } = copied;
    err.write(
      `svc: copied and compared ${rows} rows, among them ${monitors} monitors and the results of ${results} slots\n`,
    );
  },
};

/**
 * The address of the coordinator's database.
 *
 * @throws UsageError where no setting names one
 */
function databaseOfSettings(option: string, environment: NodeJS.ProcessEnv): string {
  const { databaseUrl } = readEnvironment(
    { databaseUrl: COORDINATOR_SETTINGS.databaseUrl },
    environment,
  ).values;
  if (databaseUrl === undefined)
    throw new UsageError(`${option} is needed where SVC_DATABASE_URL is not set: see migrate-store --help`);
  return databaseUrl.reveal();
}

/**
 * The database that an option names. A relative path of a file
 * starts from the folder in which the user called the command.
 */
function databaseAt(text: string, environment: NodeJS.ProcessEnv): Secret {
  if (!COORDINATOR_SETTINGS.databaseUrl.schema.safeParse(text).success)
    throw new UsageError('a database is sqlite:<path> or postgres://…');
  const url = new Secret(text);
  const file = databaseFileOf(url, '');
  return file === null ? url : new Secret(`sqlite:${userPath(file, environment)}`);
}
