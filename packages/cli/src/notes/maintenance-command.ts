import { randomUUID } from 'node:crypto';
import { describeSettings } from '@svc/shared/settings/environment.ts';
import { z } from 'zod';
import { asking, openApi } from '../api.ts';
import { CLI_SETTINGS } from '../cli-settings.ts';
import { type Command, runOf, type Surroundings, UsageError } from '../command.ts';
import { describeOptions, parseOptions, requireId } from '../options.ts';
import { table } from '../table.ts';

const PATH = '/v1/maintenance-windows';
const STATES = ['planned', 'active', 'ended'] as const;
const FREQUENCIES = ['daily', 'weekly', 'monthly'] as const;

const LIST = {
  state: { value: STATES.join('|'), oneOf: STATES, description: 'only windows in this state' },
  monitor: { value: 'ID', description: 'only windows of this monitor' },
} as const;

const CREATE = {
  title: { value: 'TEXT', description: 'what is done, in one line' },
  text: { value: 'TEXT', description: 'the message for visitors about it' },
  from: {
    value: 'TIME',
    description: 'begin: 2026-11-25T02:00 in the time zone, or an instant with its offset',
  },
  until: { value: 'TIME', description: 'end, in the same form' },
  zone: { value: 'ZONE', description: 'time zone as Europe/Berlin (the default: UTC)' },
  monitor: { value: 'ID', repeats: true, description: 'a monitor whose alerts are held; may be repeated' },
  page: { value: 'ID', repeats: true, description: 'a status page that shows it; may be repeated' },
  component: { value: 'ID', repeats: true, description: 'a component of a page; may be repeated' },
  repeat: { value: FREQUENCIES.join('|'), oneOf: FREQUENCIES, description: 'repeat it; without it, once' },
  every: { value: 'NUMBER', description: 'every so many days, weeks or months (the default: 1)' },
  on: { value: 'DAYS', description: 'weekly: the days, as mon,thu (the default: that of --from)' },
} as const;

export const maintenanceCommand: Command = {
  help: `Usage: npm run svc -- maintenance list [options]
       npm run svc -- maintenance create --title TEXT --from TIME --until TIME [options]
       npm run svc -- maintenance end ID
       npm run svc -- maintenance remove ID

During a window the alerts of its monitors are held, and their uptime leaves the time out. When it ends, channels get the changes since
their last alert. end ends a window now, with all of its later occurrences, and keeps its past. remove removes it as if it had never been.

Options of list:
${describeOptions(LIST)}

Options of create:
${describeOptions(CREATE)}

Settings, from the environment:
${describeSettings(CLI_SETTINGS)}
`,
  run: runOf('maintenance', { list, create, end, remove }),
};

const listed = z.object({
  id: z.string(),
  title: z.string(),
  state: z.string(),
  time_zone: z.string(),
  repeat: z.object({ frequency: z.string() }).nullable(),
  monitor_ids: z.array(z.string()),
  occurrence: z.object({ starts_at: z.string(), ends_at: z.string() }).nullable(),
});

async function list(args: readonly string[], surroundings: Surroundings): Promise<void> {
  const { state, monitor } = parseOptions(args, LIST);
  const query = {
    ...(state === undefined ? {} : { state }),
    ...(monitor === undefined ? {} : { monitor_id: monitor }),
  };
  const api = openApi(surroundings);
  const rows = [['ID', 'STATE', 'FROM', 'UNTIL', 'REPEATS', 'MONITORS', 'TITLE']];
  await asking(api, async () => {
    for await (const window of api.client.list(PATH, query)) rows.push(rowOf(listed.parse(window)));
  });
  surroundings.out.write(table(rows));
}

function rowOf({ id, state, occurrence, repeat, monitor_ids, title }: z.infer<typeof listed>): string[] {
  const minute = (instant: string | undefined) => instant?.slice(0, 16).replace('T', ' ').concat('Z') ?? '-';
  const times = [minute(occurrence?.starts_at), minute(occurrence?.ends_at)];
  return [id, state, ...times, repeat?.frequency ?? 'once', String(monitor_ids.length), title];
}

const made = z.object({ id: z.string(), warnings: z.array(z.string()) });

async function create(args: readonly string[], surroundings: Surroundings): Promise<void> {
  const given = parseOptions(args, CREATE);
  for (const name of ['title', 'from', 'until'] as const) {
    if (given[name] === undefined) throw new UsageError(`--${name} is required: ${CREATE[name].description}`);
  }
  if (given.repeat === undefined && (given.every !== undefined || given.on !== undefined))
    throw new UsageError('--every and --on need --repeat');
  const body = {
    title: given.title,
    starts_at: given.from,
    ends_at: given.until,
    ...(given.text === undefined ? {} : { text: given.text }),
    ...(given.zone === undefined ? {} : { time_zone: given.zone }),
    ...(given.repeat === undefined ? {} : { repeat: repetition(given.repeat, given.every, given.on) }),
    monitor_ids: given.monitor ?? [],
    page_ids: given.page ?? [],
    component_ids: given.component ?? [],
  };
  const api = openApi(surroundings);
  const answer = await asking(api, () => api.client.post(PATH, body, { idempotencyKey: randomUUID() }));
  const { id, warnings } = made.parse(answer.body);
  surroundings.out.write(`${id}\n`);
  for (const warning of warnings) surroundings.err.write(`svc: ${warning}\n`);
}

function repetition(frequency: string, every: string | undefined, days: string | undefined): object {
  if (every !== undefined && !/^[1-9]\d?$/.test(every))
    throw new UsageError(`--every must be a number from 1 to 99, not "${every}"`);
  return {
    frequency,
    ...(every === undefined ? {} : { interval: Number(every) }),
    ...(days === undefined ? {} : { weekdays: days.split(',') }),
  };
}

async function end([given, ...args]: readonly string[], surroundings: Surroundings): Promise<void> {
  const id = requireId(given, 'maintenance window', '"maintenance list" shows it');
  parseOptions(args, {});
  const api = openApi(surroundings);
  await asking(api, () => api.client.request('POST', `${PATH}/${id}/end`));
  surroundings.err.write(`svc: ended maintenance window ${id}\n`);
}

async function remove([given, ...args]: readonly string[], surroundings: Surroundings): Promise<void> {
  const id = requireId(given, 'maintenance window', '"maintenance list" shows it');
  parseOptions(args, {});
  const api = openApi(surroundings);
  await asking(api, () => api.client.delete(`${PATH}/${id}`));
  surroundings.err.write(`svc: removed maintenance window ${id}\n`);
}
