import { COORDINATOR_SETTINGS, databaseFileOf, databaseOf } from '@svc/coordinator/config.ts';
import { changeShardsAt } from '@svc/coordinator/store/change-shards.ts';
import { createLogger } from '@svc/shared/log.ts';
import { describeSettings, readEnvironment } from '@svc/shared/settings/environment.ts';
import { type Command, UsageError } from '../command.ts';

const PLACE = { databaseUrl: COORDINATOR_SETTINGS.databaseUrl };

export const shardsCommand: Command = {
  help: `Usage: npm run svc -- shards N

Changes the number of shards in which the monitors lie, 1 to 64. Stop all coordinators first: the command is refused while one leads. Agents
may run on, and what they have reported is recorded afterwards. Then set SVC_SHARDS to N at every coordinator, or leave it out.

Settings, from the environment, as the coordinators have them:
${describeSettings(PLACE)}
`,
  async run([text = '', ...rest], { environment, err }) {
    const count = COORDINATOR_SETTINGS.shards.schema.safeParse(text);
    if (!count.success || count.data === undefined || rest.length > 0)
      throw new UsageError('the number of shards is needed, 1 to 64: see shards --help');
    const { databaseUrl } = readEnvironment(PLACE, environment).values;
    if (databaseFileOf(databaseUrl, '') !== null)
      throw new UsageError('only PostgreSQL has more than one shard: set SVC_DATABASE_URL to postgres://…');
    const log = createLogger('shards', 'silent');
    const before = await changeShardsAt(databaseOf(databaseUrl, ''), count.data, log);
    err.write(
      `svc: the monitors lie in ${count.data} ${count.data === 1 ? 'shard' : 'shards'} now (before: ${before})\n`,
    );
  },
};
