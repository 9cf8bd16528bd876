import { describeSettings } from '@svc/shared/settings/environment.ts';
import { z } from 'zod';
import { asking, openApi } from './api.ts';
import { CLI_SETTINGS } from './cli-settings.ts';
import { type Command, runOf, type Surroundings, UsageError } from './command.ts';
import { describeOptions, parseOptions, requireId } from './options.ts';
import { table } from './table.ts';

const MUTE = {
  for: { value: 'LENGTH', description: 'how long: 30m, 4h or 2d' },
  until: { value: 'TIME', description: 'until when, as 2027-01-01T02:00:00Z' },
} as const;

const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

export const monitorCommand: Command = {
  help: `Usage: npm run svc -- monitor list
       npm run svc -- monitor mute ID (--for LENGTH | --until TIME)
       npm run svc -- monitor unmute ID

mute holds the alerts of a monitor, for 31 days at most. It is checked meanwhile, and the time counts for its uptime. When the mute ends,
channels get the changes since their last alert. unmute ends it now. list shows the states of the monitors, and which are muted.

Options of mute:
${describeOptions(MUTE)}

Settings, from the environment:
${describeSettings(CLI_SETTINGS)}
`,
  run: runOf('monitor', { list, mute, unmute }),
};

const listed = z.object({
  id: z.string(),
  name: z.string(),
  active: z.boolean(),
  status: z.string(),
  mute: z.object({ until: z.string(), by: z.string() }).nullish(),
});

async function list(args: readonly string[], surroundings: Surroundings): Promise<void> {
  parseOptions(args, {});
  const api = openApi(surroundings);
  const rows = [['ID', 'STATE', 'MUTED UNTIL', 'NAME']];
  await asking(api, async () => {
    for await (const monitor of api.client.list('/v1/monitor-states', { sort: 'id' })) {
      const { id, name, active, status, mute } = listed.parse(monitor);
      rows.push([
        id,
        active ? status : 'paused',
        mute === null || mute === undefined ? '-' : mute.until,
        name,
      ]);
    }
  });
  surroundings.out.write(table(rows));
}

const muted = z.object({ until: z.string() });

async function mute([given, ...args]: readonly string[], surroundings: Surroundings): Promise<void> {
  const id = requireId(given, 'monitor', '"monitor list" shows it');
  const { for: length, until } = parseOptions(args, MUTE);
  if ((length === undefined) === (until === undefined)) throw new UsageError('use either --for or --until');
  const body = { until: until ?? endAfter(length ?? '') };
  const api = openApi(surroundings);
  const answer = await asking(api, () => api.client.request('POST', `/v1/monitors/${id}/mute`, { body }));
  surroundings.err.write(`svc: monitor ${id} is muted until ${muted.parse(answer.body).until}\n`);
}

/** The instant that lies this length of time after now, in the form that the API takes. */
function endAfter(length: string): string {
  const [, count, unit = ''] = /^([1-9]\d{0,4})([mhd])$/.exec(length) ?? [];
  if (count === undefined) throw new UsageError(`--for must be as 30m, 4h or 2d, not "${length}"`);
  return new Date(Date.now() + Number(count) * (UNIT_MS[unit] ?? 0)).toISOString();
}

async function unmute([given, ...args]: readonly string[], surroundings: Surroundings): Promise<void> {
  const id = requireId(given, 'monitor', '"monitor list" shows it');
  parseOptions(args, {});
  const api = openApi(surroundings);
  await asking(api, () => api.client.request('POST', `/v1/monitors/${id}/unmute`));
  surroundings.err.write(`svc: monitor ${id} is not muted\n`);
}
