import { PERIODICITIES, periodMs } from '@svc/shared/periodicity.ts';
import { compareRegions, type RegionText, regionTexts } from '@svc/shared/regions.ts';
import {
  kindOfType,
  MONITOR_KINDS,
  MONITOR_TYPES,
  type MonitorKind,
} from '@svc/shared/resources/monitors.ts';
import { attributeWarnings } from '@svc/shared/resources/registry.ts';
import { MASK } from '@svc/shared/secret.ts';
import { utcText } from '@svc/shared/time-texts.ts';
import { urlSecrets, userInfoApart } from '@svc/shared/url-secrets.ts';
import { z } from 'zod';
import type { StoredMonitor } from '../../declaration/stored.ts';
import { type RecentHistory, recentHistories } from '../../history/recent-history.ts';
import { noticesOf } from '../../store/alerts/monitor-notices.ts';
import {
  type FailingChannel,
  type FailingChannels,
  failingChannels,
  failingChannelsOf,
} from '../../store/declaration/links.ts';
import {
  monitorOverview,
  OVERVIEW_ORDERS,
  type OverviewRow,
  SHOWN_STATES,
} from '../../store/declaration/monitor-overview.ts';
import { monitorCreatedAt, usesOfMonitor } from '../../store/declaration/monitors.ts';
import { type Acknowledgement, acknowledgedIncidents } from '../../store/incidents/incidents.ts';
import { MaintenanceNow } from '../../store/incidents/maintenance-windows.ts';
import { type Mute, mutesOf } from '../../store/incidents/mutes.ts';
import { type LiveMonitor, MONITOR_STATUSES, type MonitorStatus } from '../../verdict/monitor.ts';
import type { MonitorNotice } from '../../verdict/monitor-notices.ts';
import { freshForMs } from '../../verdict/status.ts';
import { addTimes, NO_TIMES, type StatusTimes, uptimePercent, worstStatus } from '../../verdict/uptime.ts';
import { id, instant } from '../answers.ts';
import type { ApiParts, KnownVerdict } from '../api-parts.ts';
import { instantTextOrNull, tenths } from '../body-members.ts';
import { defineResources, resourceView, serveResources } from '../collection.ts';
import { endpoint, idOf, ok, type ServedEndpoint, serve, workspaceOf } from '../endpoint.ts';
import { idsFilter, listOf, nameFilter, offsetPage, typeFilter } from '../lists.ts';
import { invalid, Problem } from '../problem.ts';
import { acknowledgementView, viewOfAcknowledgement } from './incidents.ts';
import { muteOf, muteOfMonitor } from './mutes.ts';

/** The types of monitors in a message: `http, tcp or dns`. */
const NAMED_TYPES = new Intl.ListFormat('en', { type: 'disjunction' })
  .format(MONITOR_TYPES)
  .replace(', or', ' or');

/**
 * Maximum number of failing channels that the warnings of a monitor name.
 * A further warning gives the number of the other failing channels.
 */
const MOST_NAMED = 10;

export const MONITOR = defineResources('/v1/monitors', {
  tag: 'Monitors',
  kinds: MONITOR_KINDS,
  named: 'name',
  types: MONITOR_TYPES,
  removal:
    'The monitor leaves the channels that it was linked to. While components of status pages show the monitor, the removal is refused (409), unless `cascade` removes them too or `components=keep` leaves them in place. Their `monitor_id` is null then, and pages leave them out.',
  isShown: true,
});

export function monitorEndpoints(parts: ApiParts): ServedEndpoint[] {
  const { store, monitors, slotNow, ownRegions } = parts;
  const regionText = regionTexts(ownRegions);
  return serveResources(
    MONITOR,
    {
      table: 'monitors',
      kindFor: monitorKindOf,
      async present(stored) {
        const ids = stored.map(({ id }) => id);
        const [verdicts, failing, notices] = await Promise.all([
          monitors.verdictsOf(ids),
          failingChannels(store, ids, MOST_NAMED),
          noticesOf(store, ids),
        ]);
        const surroundings = { verdicts, failing, notices, regionText, now: slotNow() };
        return stored.map((monitor) => monitorView(monitor, surroundings));
      },
    },
    parts,
  );
}

/**
 * Returns the kind of the monitor in a body.
 *
 * @throws Problem `invalid`
 */
export function monitorKindOf(body: unknown): MonitorKind {
  const type = typeof body === 'object' && body !== null && 'type' in body ? body.type : undefined;
  const known = MONITOR_TYPES.find((candidate) => candidate === type);
  if (known !== undefined) return kindOfType(known);
  const message = type === undefined ? `is required: ${NAMED_TYPES}` : `must be ${NAMED_TYPES}`;
  throw invalid([{ path: ['type'], message }]);
}

const bars = (what: string) =>
  z.array(z.enum([...MONITOR_STATUSES, 'maintenance'])).meta({
    description: `The worst status in each of the last ${what}, oldest first. \`maintenance\`: there was no other data.`,
  });
const uptimeShare = (range: string) =>
  z
    .number()
    .nullable()
    .meta({ description: `Uptime of the last ${range}, percent. Null without data.` });
const medianLatency = z.number().nullable();

const historyView = z
  .object({
    uptime_24h: uptimeShare('24 hours'),
    uptime_90d: uptimeShare('90 days'),
    hours: bars('24 hours'),
    days: bars('90 days (UTC)'),
    latency: medianLatency.meta({
      description: 'Median latency of the last 24 hours that are rolled up, ms. Null without data.',
    }),
    latencies: z.array(medianLatency).meta({ description: 'The same in each of these hours, oldest first.' }),
  })
  .meta({ description: 'Present where `include=history` is in the query.' });

const monitorStateView = z
  .object({
    id,
    type: z.enum(MONITOR_TYPES as [string, ...string[]]),
    name: z.string(),
    active: z.boolean(),
    status: z.enum(MONITOR_STATUSES),
    since: z
      .number()
      .nullable()
      .meta({ description: 'When the status began, epoch ms. Null where there was no verdict yet.' }),
    maintenance: z.boolean().meta({
      description: 'Whether a maintenance window of the monitor is under way: its alerts are held.',
    }),
    mute: muteOfMonitor,
    acknowledgement: acknowledgementView.extend({ incident_id: id }).nullable().meta({
      description: 'The acknowledgement of the open incident of the monitor. Null without one.',
    }),
    target: z.string().nullable().meta({
      description:
        'What is checked, without user information and with a mask in place of a query, for every scope of the token. Null for the moment until a new monitor has been loaded.',
    }),
    periodicity: z
      .enum(PERIODICITIES)
      .nullable()
      .meta({ description: 'Null for the moment until a new monitor has been loaded.' }),
    disagreeing: z.array(z.string()).meta({
      description:
        'Regions whose vote counts and is another outcome than the status. For `degraded`, a failed vote agrees too. Empty for `unknown`.',
    }),
    failing_alone: z.array(z.object({ region: z.string(), since: z.number().int() })).meta({
      description:
        'Regions that have failed alone for so long that the channels were told (`SVC_REGION_NOTICE_AFTER`), and since when, epoch ms.',
    }),
    history: historyView.optional(),
  })
  .meta({
    examples: [
      {
        id: '12',
        type: 'http',
        name: 'API',
        active: true,
        status: 'active',
        since: 1_767_225_600_412,
        maintenance: false,
        mute: null,
        acknowledgement: null,
        target: 'https://api.example.com/health',
        periodicity: '30s',
        disagreeing: [],
        failing_alone: [],
      },
    ],
  });
export type MonitorStateView = z.infer<typeof monitorStateView>;

/** Maximum number of failing channels that an overview names. */
const MOST_FAILING = 5;

const markCount = (which: string) =>
  z
    .number()
    .int()
    .meta({
      description: `Number of monitors ${which}, among those that pass the filters \`ids\`, \`name\` and \`type\`.`,
    });

const COUNTS = { error: 0, degraded: 0, unknown: 0, active: 1, paused: 0 };

const page = listOf(monitorStateView);
const statesView = z
  .object({
    ...page.shape,
    counts: z
      .object({
        error: z.number().int(),
        degraded: z.number().int(),
        unknown: z.number().int(),
        active: z.number().int(),
        paused: z.number().int(),
      })
      .meta({
        description:
          'Number of monitors in each state, among those that pass the other filters. `paused` monitors are not active.',
      }),
    under_maintenance: markCount('under maintenance'),
    muted: markCount('that are muted'),
    acknowledged: markCount('whose open incident is acknowledged'),
    failing_channels: z
      .array(z.object({ id, name: z.string().nullable(), reason: z.string().nullable() }))
      .meta({
        description: `The first ${MOST_FAILING} notification channels of the workspace whose alerts are not delivered, and why.`,
      }),
    failing_channel_count: z
      .number()
      .int()
      .meta({ description: 'Number of channels whose alerts are not delivered.' }),
  })
  .meta({
    examples: [
      {
        ...(page.meta()?.examples as object[] | undefined)?.[0],
        counts: COUNTS,
        under_maintenance: 0,
        muted: 0,
        acknowledged: 0,
        failing_channels: [],
        failing_channel_count: 0,
      },
    ],
  });
export type MonitorStatesView = z.infer<typeof statesView>;

const markFilter = (which: string) =>
  z
    .enum(['true', 'false'], 'must be true or false')
    .transform((text) => text === 'true')
    .optional()
    .meta({ description: `\`true\`: only monitors ${which}. \`false\`: only the others.` });

const query = offsetPage.extend({
  ids: idsFilter,
  name: nameFilter('name'),
  type: typeFilter(MONITOR_TYPES),
  state: z
    .enum(SHOWN_STATES, `must be one of ${SHOWN_STATES.join(', ')}`)
    .optional()
    .meta({ description: 'Only monitors in this state. `paused` monitors are not active.' }),
  maintenance: markFilter('that are under maintenance now'),
  muted: markFilter('that are muted now'),
  acknowledged: markFilter('whose open incident is acknowledged'),
  include: z
    .enum(['history'], 'must be history')
    .optional()
    .meta({ description: '`history`: with the uptime and the latency of the last 24 hours and 90 days.' }),
  sort: z
    .enum(OVERVIEW_ORDERS, `must be one of ${OVERVIEW_ORDERS.join(', ')}`)
    .default('state')
    .meta({
      description: 'Order. `state` has the most urgent monitors first; a minus reverses an order.',
    }),
});

type Parts = Pick<ApiParts, 'store' | 'monitors' | 'slotNow'>;

export const monitorStates = endpoint({
  method: 'GET',
  path: '/v1/monitor-states',
  access: 'read',
  tag: 'Monitors',
  summary: 'List monitors by their states',
  description:
    'A sorted overview, much shorter than the list of monitors, which has all attributes. The states are those that were recorded last.',
  query,
  answers: { 200: { description: 'A page of the list.', schema: statesView } },
});

/** What is known of a listed monitor, apart from its row in the database. */
type KnownOfMonitor = {
  readonly monitor: LiveMonitor | undefined;
  readonly verdict: KnownVerdict | undefined;
  readonly notices: readonly MonitorNotice[];
  readonly history: RecentHistory | undefined;
  readonly mute: Mute | undefined;
  readonly acknowledged: (Acknowledgement & { readonly incidentId: number }) | undefined;
};

export function monitorStateEndpoints({ store, monitors, slotNow }: Parts): ServedEndpoint[] {
  const maintenanceNow = new MaintenanceNow(store);
  const viewOf = (
    { id, active, maintenance, ...row }: OverviewRow,
    { monitor, verdict, notices, history, mute, acknowledged }: KnownOfMonitor,
  ): MonitorStateView => {
    return {
      ...row,
      id: String(id),
      active: active === 1,
      maintenance: maintenance === 1,
      mute: mute === undefined ? null : muteOf(mute),
      acknowledgement: acknowledgementOf(acknowledged),
      target: monitor === undefined ? null : urlSecrets.replaced(monitor.target, MASK),
      periodicity: PERIODICITIES.find((each) => periodMs(each) === monitor?.periodMs) ?? null,
      disagreeing:
        verdict === undefined || monitor === undefined ? [] : regionsAgainst(verdict, monitor, slotNow()),
      failing_alone: notices.flatMap(({ region, since }) => (region === null ? [] : [{ region, since }])),
      ...(history === undefined ? {} : { history: historyOf(history) }),
    };
  };
  return [
    serve(monitorStates, async (request) => {
      const { limit, offset, ids, name, type, state, include, sort, ...marks } = request.query;
      const workspaceId = workspaceOf(request);
      const { rows, counts, marked } = await monitorOverview(store, {
        workspaceId,
        ids,
        nameContains: name,
        type,
        state,
        windowsUnderWay: await maintenanceNow.underWay(workspaceId, slotNow()),
        now: slotNow(),
        marks,
        order: sort,
        limit,
        offset,
      });
      const total =
        state === undefined ? Object.values(counts).reduce((sum, count) => sum + count, 0) : counts[state];
      const listed = rows.map(({ id }) => id);
      const [known, verdicts, notices, mutes, acknowledged, histories] = await Promise.all([
        monitors.findMonitors(listed),
        monitors.verdictsOf(listed),
        noticesOf(store, listed),
        mutesOf(store, listed, slotNow()),
        acknowledgedIncidents(store, listed),
        include === undefined ? new Map() : recentHistories(store, listed, slotNow()),
      ]);
      const data = rows.map((row) => {
        const { id } = row;
        return viewOf(row, {
          monitor: known.get(id),
          verdict: verdicts.get(id),
          notices: notices.get(id) ?? [],
          history: histories.get(id),
          mute: mutes.get(id),
          acknowledged: acknowledged.get(id),
        });
      });
      const failing = await failingChannelsOf(store, workspaceId, MOST_FAILING);
      return ok({
        ...{ data, total, limit, offset },
        counts,
        under_maintenance: marked.maintenance,
        muted: marked.muted,
        acknowledged: marked.acknowledged,
        failing_channels: failing.first.map(({ id, ...channel }) => ({ ...channel, id: String(id) })),
        failing_channel_count: failing.total,
      } satisfies MonitorStatesView);
    }),
  ];
}

function acknowledgementOf(
  acknowledged: KnownOfMonitor['acknowledged'],
): MonitorStateView['acknowledgement'] {
  const view = viewOfAcknowledgement(acknowledged);
  if (view === null || acknowledged === undefined) return null;
  return { incident_id: String(acknowledged.incidentId), ...view };
}

/** The outcomes of votes that agree with a status. */
const AGREEING: Readonly<Record<MonitorStatus, readonly string[]>> = {
  active: ['passed'],
  degraded: ['degraded', 'failed'],
  error: ['failed'],
  unknown: ['passed', 'degraded', 'failed'],
};

/** A region that reports no more, perhaps because it was taken away, does not disagree for ever. */
function regionsAgainst(
  { status, votes }: KnownVerdict,
  { periodMs, longestCheckMs }: LiveMonitor,
  now: number,
): string[] {
  const freshMs = freshForMs(periodMs, longestCheckMs);
  return votes
    .filter(({ outcome, at }) => now - at <= freshMs && !AGREEING[status].includes(outcome))
    .map(({ region }) => region);
}

function historyOf({ hours, days, median, medians }: RecentHistory): MonitorStateView['history'] {
  const uptimeOf = (times: readonly StatusTimes[]) => uptimePercent(times.reduce(addTimes, NO_TIMES));
  return {
    uptime_24h: uptimeOf(hours),
    uptime_90d: uptimeOf(days),
    hours: hours.map(barOf),
    days: days.map(barOf),
    latency: tenths(median),
    latencies: medians.map(tenths),
  };
}

function barOf(times: StatusTimes): MonitorStatus | 'maintenance' {
  const worst = worstStatus(times);
  return worst === 'unknown' && times.maintenance > 0 ? 'maintenance' : worst;
}

/**
 * Maximum number of components in an answer, and maximum number of notifications.
 * The answer also has the number of all components and of all notifications.
 */
const MOST_USES = 50;

const count = z.number().int().min(0);

const usesView = z
  .object({
    components: z.array(z.object({ id, page_id: id, page_slug: z.string() })).meta({
      description: `The first ${MOST_USES} components of status pages that show the monitor.`,
    }),
    component_count: count,
    notifications: z
      .array(
        z.object({
          id,
          name: z.string().nullable(),
          provider_type: z.string(),
          state: z.enum(['ok', 'failing']),
          stopped_at: instant.nullable(),
        }),
      )
      .meta({ description: `The first ${MOST_USES} channels that receive its alerts.` }),
    notification_count: count,
  })
  .meta({
    examples: [
      {
        components: [{ id: '7', page_id: '2', page_slug: 'example' }],
        component_count: 1,
        notifications: [{ id: '3', name: 'Ops', provider_type: 'webhook', state: 'ok', stopped_at: null }],
        notification_count: 1,
      },
    ],
  });

export const monitorUses = endpoint({
  method: 'GET',
  path: '/v1/monitors/{id}/uses',
  access: 'read',
  tag: 'Monitors',
  summary: 'List the components and notifications that refer to a monitor',
  answers: { 200: { description: 'The components and notifications.', schema: usesView } },
});

export function monitorUsesEndpoints({ store }: Pick<ApiParts, 'store'>): ServedEndpoint[] {
  return [
    serve(monitorUses, async (request) => {
      const monitor = await requireMonitor(store, workspaceOf(request), idOf(request));
      const { components, notifications } = await usesOfMonitor(store, monitor.id, MOST_USES);
      return ok({
        components: components.first.map(({ id, pageId, slug }) => ({
          id: String(id),
          page_id: String(pageId),
          page_slug: slug,
        })),
        component_count: components.total,
        notifications: notifications.first.map(({ id, name, providerType, state, stoppedAt }) => ({
          id: String(id),
          name,
          provider_type: providerType,
          state,
          stopped_at: instantTextOrNull(stoppedAt),
        })),
        notification_count: notifications.total,
      });
    }),
  ];
}

/** What an answer about monitors contains in addition to their declarations. */
type MonitorSurroundings = {
  readonly verdicts: ReadonlyMap<number, KnownVerdict>;
  /** Failing channels by the id of the monitor. */
  readonly failing: ReadonlyMap<number, FailingChannels>;
  /** Notices by the id of the monitor. */
  readonly notices: ReadonlyMap<number, readonly MonitorNotice[]>;
  readonly regionText: RegionText;
  /** The instant for which the answer is made, epoch ms. */
  readonly now: number;
};

function monitorView(
  stored: StoredMonitor,
  { verdicts, failing, notices, regionText, now }: MonitorSurroundings,
): object {
  const verdict = verdicts.get(stored.id);
  const answered = resourceView(stored, {
    status: verdict?.status ?? 'unknown',
    regions_status: (verdict?.votes ?? [])
      .toSorted((one, other) => compareRegions(one.region, other.region))
      .map((vote) => regionStatus(vote, now)),
    warnings: [
      ...attributeWarnings(stored.kind, stored.attributes),
      ...(notices.get(stored.id) ?? []).map((notice) => noticeWarning(notice, regionText)),
      ...undelivered(failing.get(stored.id)),
    ],
  });
  return stored.kind === 'svc_http_monitor' ? userInfoApart(answered) : answered;
}

function noticeWarning({ region, since }: MonitorNotice, regionText: RegionText): string {
  const text = utcText(since);
  return region === null
    ? `it has had no data since ${text}`
    : `region ${regionText(region)} alone has failed since ${text}`;
}

function undelivered(failing: FailingChannels | undefined): string[] {
  if (failing === undefined) return [];
  const { first, total } = failing;
  const more = total - first.length;
  return [
    ...first.map(undeliveredBy),
    ...(more === 0 ? [] : [`alerts are not delivered to ${more} more notification${more === 1 ? '' : 's'}`]),
  ];
}

function undeliveredBy({ id, name, reason }: FailingChannel): string {
  const named = name === null ? '' : ` (${name})`;
  return `alerts are not delivered to channel ${id}${named}${reason === null ? '' : `: ${reason}`}`;
}

function regionStatus({ region, outcome, slot, at }: KnownVerdict['votes'][number], now: number): object {
  return { region, vote: outcome, slot, at, age_ms: Math.max(0, now - slot) };
}

/**
 * Returns the id of a monitor that exists, and when the monitor was created (`createdAt`, epoch ms).
 *
 * @throws Problem when the monitor does not exist or belongs to another workspace
 */
export async function requireMonitor(
  store: ApiParts['store'],
  workspaceId: number,
  id: number,
): Promise<{ id: number; createdAt: number }> {
  const createdAt = await monitorCreatedAt(store, workspaceId, id);
  if (createdAt === null) throw new Problem('not-found', `there is no monitor ${id}`);
  return { id, createdAt };
}
