import { SECRET_KEY_FILE } from '@svc/coordinator/store/access/key-files.ts';
import { describeSettings } from '@svc/shared/settings/environment.ts';
import { type Command, type Surroundings, UsageError } from '../../command.ts';
import { describeOptions, parseOptions } from '../../options.ts';
import { userPath } from '../../write-file.ts';
import { makeBackup } from './backup.ts';
import { PLACES, placesOf } from './places.ts';
import { restoreBackup } from './restore.ts';

const BACKUP = {
  'without-keys': {
    description:
      'leave the secret key, the API token and the keys of NATS out: keep those files elsewhere, once',
  },
} as const;

const SETTINGS = `Settings, from the environment, as the coordinator has them:
${describeSettings(PLACES)}
`;

export const backupCommand: Command = {
  help: `Usage: npm run svc -- backup FOLDER [--without-keys]

Copies the database as it is at one moment, the secret key, the generated API token, and the keys and accounts of NATS that "svc
region" keeps, to a new folder. The copy is checked. The coordinator may run, and is not delayed. Call it on the
coordinator's machine, as root or as a user who may read all of this.

The backup opens every stored secret and has the keys of the running service: guard it like the data folder, or keep the keys apart
with --without-keys. A key that SVC_SECRET_KEY sets is never in the backup: keep it elsewhere. Results that NATS holds and the declared
file are not in it.

Options:
${describeOptions(BACKUP)}

${SETTINGS}`,
  async run(args, surroundings) {
    const [path, options] = pathIn(args, 'backup FOLDER: the folder that is made', surroundings);
    const { 'without-keys': isWithoutKeys = false } = parseOptions(options, BACKUP);
    const places = placesOf(surroundings.environment);
    const { files } = await makeBackup(places, path, { isWithoutKeys });
    const { err } = surroundings;
    err.write(`svc: the backup ${path} is complete and checked (${Object.keys(files).sort().join(', ')})\n`);
    if (places.keysOfSettings !== null)
      err.write(
        'svc: it does not have the key of SVC_SECRET_KEY: keep that elsewhere, nothing else opens the backup\n',
      );
    else if (isWithoutKeys)
      err.write(
        `svc: it has no keys. Keep ${places.dataDir}/secret-key elsewhere: nothing else opens the backup. Keep api-token there and the *.nk files of ${places.natsDir} too, or make new ones after a restore\n`,
      );
    else if (Object.hasOwn(files, SECRET_KEY_FILE))
      err.write('svc: it has the secret key: guard it like the data folder\n');
  },
};

export const restoreCommand: Command = {
  help: `Usage: npm run svc -- restore FOLDER

Brings a backup into the data folder, which must be empty or absent, and which no coordinator may use. Called by root, it gives the
files to the owner of the folder. The next start of the coordinator goes on from there. What happened since the backup is not known to it: results that NATS still holds are read, and an
alert of that time may be sent again, under the same id where it waited to be sent.

${SETTINGS}`,
  async run(args, surroundings) {
    const [path, options] = pathIn(args, 'restore FOLDER: the backup', surroundings);
    parseOptions(options, {});
    const places = placesOf(surroundings.environment);
    const { manifest, needsKey, keepsNats } = await restoreBackup(path, places);
    const { err } = surroundings;
    err.write(`svc: restored the backup of ${manifest.made_at} to ${places.dataDir}\n`);
    if (keepsNats) err.write(`svc: ${places.natsDir} is there already, and stays as it is\n`);
    if (needsKey) {
      err.write(
        `svc: it has no secret key: bring ${places.dataDir}/secret-key, or set SVC_SECRET_KEY, before you start the coordinator\n`,
      );
    }
    if (manifest.without_keys) {
      err.write(
        `svc: it was made without keys: bring api-token to ${places.dataDir}, or the coordinator makes another one, and the *.nk files to ${places.natsDir}, or make new ones with "svc region rotate", that of system first\n`,
      );
    }
  },
};

function pathIn(
  [path, ...options]: readonly string[],
  usage: string,
  { environment }: Surroundings,
): [path: string, options: string[]] {
  if (path === undefined || path.startsWith('-')) throw new UsageError(`the folder is missing: use ${usage}`);
  return [userPath(path, environment), options];
}
