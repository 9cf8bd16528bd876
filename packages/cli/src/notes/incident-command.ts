import { randomUUID } from 'node:crypto';
import { describeSettings } from '@svc/shared/settings/environment.ts';
import { z } from 'zod';
import { asking, openApi } from '../api.ts';
import { CLI_SETTINGS } from '../cli-settings.ts';
import { type Command, runOf, type Surroundings, UsageError } from '../command.ts';
import { describeOptions, parseOptions, requireId } from '../options.ts';
import { table } from '../table.ts';

const PATH = '/v1/incidents';
const UPDATE_STATES = ['investigating', 'identified', 'monitoring', 'resolved'] as const;
const IMPACTS = ['none', 'degraded', 'partial_outage', 'down'] as const;
const LISTED = ['open', 'resolved'] as const;
/** Maximum number of incidents that `list` shows. */
const NEWEST = 50;

const LIST = {
  state: {
    value: LISTED.join('|'),
    oneOf: LISTED,
    description: 'only incidents that are open, or that are over',
  },
  monitor: { value: 'ID', description: 'only incidents of this monitor' },
} as const;

const UPDATE = {
  state: { value: UPDATE_STATES.join('|'), oneOf: UPDATE_STATES, description: 'how far people are' },
  text: { value: 'TEXT', description: 'the message for visitors' },
  component: { value: 'ID', repeats: true, description: 'a component that is affected; may be repeated' },
} as const;

const CREATE = {
  title: { value: 'TEXT', description: 'what has happened, in one line' },
  page: { value: 'ID', repeats: true, description: 'a status page that shows it; may be repeated' },
  impact: {
    value: IMPACTS.join('|'),
    oneOf: IMPACTS,
    description: 'how pages show the components (the default: none)',
  },
  ...UPDATE,
} as const;

const ACKNOWLEDGE = {
  note: { value: 'TEXT', description: 'a word about it, in one line' },
} as const;

export const incidentCommand: Command = {
  help: `Usage: npm run svc -- incident list [options]
       npm run svc -- incident create --title TEXT --page ID --text TEXT [options]
       npm run svc -- incident update ID --state STATE --text TEXT [options]
       npm run svc -- incident acknowledge ID [--note TEXT]
       npm run svc -- incident unacknowledge ID
       npm run svc -- incident remove ID

list shows the newest ${NEWEST} incidents, of monitors and written by people. create writes one for status pages. update tells more about
an incident of either kind. acknowledge says that you look after an open one: channels get no further reminders of it. unacknowledge takes
that back. remove removes one that people wrote.

Options of list:
${describeOptions(LIST)}

Options of create:
${describeOptions(CREATE)}

Options of update:
${describeOptions(UPDATE)}

Options of acknowledge:
${describeOptions(ACKNOWLEDGE)}

Settings, from the environment:
${describeSettings(CLI_SETTINGS)}
`,
  run: runOf('incident', { list, create, update, acknowledge, unacknowledge, remove }),
};

const page = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      monitor_id: z.string().nullable(),
      title: z.string().nullable(),
      state: z.string(),
      started_at: z.string(),
      resolved_at: z.string().nullable(),
      acknowledgement: z.object({ by: z.string() }).nullish(),
    }),
  ),
});

async function list(args: readonly string[], surroundings: Surroundings): Promise<void> {
  const { state, monitor } = parseOptions(args, LIST);
  const query = new URLSearchParams({
    limit: String(NEWEST),
    ...(state === undefined ? {} : { state }),
    ...(monitor === undefined ? {} : { monitor_id: monitor }),
  });
  const api = openApi(surroundings);
  const { body } = await asking(api, () => api.client.request('GET', `${PATH}?${query}`));
  const minute = (instant: string | null) => instant?.slice(0, 16).replace('T', ' ').concat('Z') ?? '-';
  const rows = page.parse(body).data.map(({ id, state: now, monitor_id, title, ...more }) => {
    const times = [minute(more.started_at), minute(more.resolved_at)];
    return [id, now, ...times, more.acknowledgement?.by ?? '-', monitor_id ?? '-', title ?? '-'];
  });
  const heads = ['ID', 'STATE', 'BEGAN', 'ENDED', 'ACKNOWLEDGED BY', 'MONITOR', 'TITLE'];
  surroundings.out.write(table([heads, ...rows]));
}

const made = z.object({ id: z.string() });

async function create(args: readonly string[], surroundings: Surroundings): Promise<void> {
  const given = parseOptions(args, CREATE);
  for (const name of ['title', 'page', 'text'] as const) {
    if (given[name] === undefined) throw new UsageError(`--${name} is required: ${CREATE[name].description}`);
  }
  const body = {
    title: given.title,
    page_ids: given.page,
    state: given.state ?? 'investigating',
    text: given.text,
    component_ids: given.component ?? [],
    ...(given.impact === undefined ? {} : { impact: given.impact }),
  };
  const api = openApi(surroundings);
  const answer = await asking(api, () => api.client.post(PATH, body, { idempotencyKey: randomUUID() }));
  surroundings.out.write(`${made.parse(answer.body).id}\n`);
}

async function update([given, ...args]: readonly string[], surroundings: Surroundings): Promise<void> {
  const id = requireId(given, 'incident', '"incident list" shows it');
  const { state, text, component } = parseOptions(args, UPDATE);
  if (state === undefined) throw new UsageError(`--state is required: ${UPDATE_STATES.join(', ')}`);
  if (text === undefined) throw new UsageError(`--text is required: ${UPDATE.text.description}`);
  const body = { state, text, component_ids: component ?? [] };
  const api = openApi(surroundings);
  await asking(api, () => api.client.post(`${PATH}/${id}/updates`, body, { idempotencyKey: randomUUID() }));
  surroundings.err.write(`svc: published an update of incident ${id}\n`);
}

const acknowledged = z.object({
  acknowledgement: z.object({ at: z.string(), by: z.string() }).nullable(),
});

async function acknowledge([given, ...args]: readonly string[], surroundings: Surroundings): Promise<void> {
  const id = requireId(given, 'incident', '"incident list" shows it');
  const { note } = parseOptions(args, ACKNOWLEDGE);
  const body = note === undefined ? {} : { note };
  const api = openApi(surroundings);
  const answer = await asking(api, () => api.client.request('POST', `${PATH}/${id}/acknowledge`, { body }));
  const { at = '', by = '' } = acknowledged.parse(answer.body).acknowledgement ?? {};
  surroundings.err.write(`svc: incident ${id} is acknowledged by ${by}, ${at}\n`);
}

async function unacknowledge([given, ...args]: readonly string[], surroundings: Surroundings): Promise<void> {
  const id = requireId(given, 'incident', '"incident list" shows it');
  parseOptions(args, {});
  const api = openApi(surroundings);
  await asking(api, () => api.client.request('POST', `${PATH}/${id}/unacknowledge`));
  surroundings.err.write(`svc: incident ${id} is not acknowledged\n`);
}

async function remove([given, ...args]: readonly string[], surroundings: Surroundings): Promise<void> {
  const id = requireId(given, 'incident', '"incident list" shows it');
  parseOptions(args, {});
  const api = openApi(surroundings);
  await asking(api, () => api.client.delete(`${PATH}/${id}`));
  surroundings.err.write(`svc: removed incident ${id}\n`);
}
