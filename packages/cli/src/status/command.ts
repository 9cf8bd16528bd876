import { ApiError } from '@svc/shared/api/api-error.ts';
import { SvcError } from '@svc/shared/errors.ts';
import type { RegionText } from '@svc/shared/regions.ts';
import { describeSettings } from '@svc/shared/settings/environment.ts';
import { asking, openApi } from '../api.ts';
import { CLI_SETTINGS } from '../cli-settings.ts';
import type { Command } from '../command.ts';
import { describeOptions, parseOptions } from '../options.ts';
import { table } from '../table.ts';
import { regionsAnswer, regionTextOf, type Status, systemAnswer } from './answers.ts';
import { absenceText, type Finding, findingsIn, isHeardElsewhere, lengthText } from './judge.ts';

/**
 * Time limit of each request with all its repetitions, ms. It is short because a person is waiting.
 */
const ANSWER_MS = 8_000;

const OPTIONS = { json: { description: 'write JSON' } } as const;

export const statusCommand: Command = {
  help: `Usage: npm run svc -- status [--json]

Shows what the coordinator knows about itself and its agents, what is wrong, and what to do. It needs a token. Only the operator's token
sees the last errors of the log and the default endpoint of the export.

Exit code: 0 the service is healthy; 1 something does not work, or the coordinator does not answer; 2 the command or its settings are
wrong.

Options:
${describeOptions(OPTIONS)}

Settings, from the environment:
${describeSettings(CLI_SETTINGS)}
`,
  async run(args, surroundings) {
    const { json } = parseOptions(args, OPTIONS);
    const api = openApi(surroundings, { attemptMs: ANSWER_MS, deadlineMs: ANSWER_MS });
    const [system, regions] = await asking(api, () =>
      Promise.all([api.client.request('GET', '/v1/system'), api.client.request('GET', '/v1/regions')]),
    ).catch((error: unknown) => {
      throw error instanceof ApiError && error.status === 404 ? toldNothing(api.baseUrl, error) : error;
    });
    const parsed = systemAnswer.safeParse(system.body);
    if (!parsed.success) throw toldNothing(api.baseUrl, parsed.error);
    const all = regionsAnswer.parse(regions.body).data;
    const status: Status = {
      system: parsed.data,
      regions: all.filter(({ agents, last_seen_at: at }) => agents.length > 0 || at !== null),
    };
    const now = Date.now();
    const findings = findingsIn(status, now);
    const document = { healthy: findings.length === 0, findings, ...status };
    surroundings.out.write(
      json ? `${JSON.stringify(document, null, 2)}\n` : shownStatus(api.baseUrl, status, findings, now),
    );
    if (findings.length > 0) {
      throw new SvcError(
        'not-healthy',
        `${findings.length} findings: ${findings.map(({ what }) => what).join('; ')}`,
      );
    }
  },
};

function toldNothing(baseUrl: string, cause: unknown): SvcError {
  return new SvcError(
    'not-healthy',
    `${baseUrl} does not report its state: it is not a coordinator, or an older one, which needs an update`,
    { cause },
  );
}

const MIB = 1_024 ** 2;

/**
 * The status as text for people.
 *
 * @param now epoch ms
 */
function shownStatus(
  baseUrl: string,
  { system, regions }: Status,
  findings: readonly Finding[],
  now: number,
): string {
  const sections = [
    coordinator(baseUrl, system),
    regions.length === 0 ? 'No region has an agent yet.\n' : regionTable({ system, regions }, now),
    system.streams.length === 0 ? '' : streamTable(system.streams, regionTextOf(regions)),
    system.export.endpoints.length === 0 ? '' : exportTable(system.export.endpoints),
    system.errors.length === 0 ? '' : errorTable(system.errors),
    findings.length === 0 ? 'healthy\n' : findingTable(findings),
  ];
  return sections.filter((section) => section !== '').join('\n');
}

function coordinator(
  baseUrl: string,
  { version, leading, another_leads: isLedElsewhere, shards, parts, monitors, queues }: Status['system'],
): string {
  const works = Object.entries(parts).map(([name, isWorking]) => `${name} ${isWorking ? 'works' : 'FAILS'}`);
  const counts = Object.entries(monitors ?? {}).map(([status, count]) => `${count} ${status}`);
  const leads = leading ? 'leads' : isLedElsewhere ? 'another coordinator leads' : 'DOES NOT LEAD';
  const rows = [
    ['Coordinator', `${baseUrl}, version ${version}, ${leads}, ${works.join(', ')}`],
    ...(shards.length > 1 ? [['Shards', shardsText(shards)]] : []),
    ['Monitors', monitors === null ? 'unknown' : counts.join(', ')],
  ];
  if (queues !== null) {
    rows.push([
      'Queues',
      `${queues.jobs_in_flight} jobs in flight; oldest result ${age(queues.results_age_seconds)}; ${queues.deliveries} deliveries wait; summaries ${age(queues.rollups_behind_seconds)} behind`,
    ]);
  }
  return table(rows);
}

/** Which coordinator leads which shards: `0, 1 this one; 2, 3 another one`. */
function shardsText(shards: Status['system']['shards']): string {
  const nameOf = ({ led, here, holder }: (typeof shards)[number]) =>
    !led ? 'NOBODY' : here ? 'this one' : (holder ?? 'another one');
  const byLeader = Map.groupBy(shards, nameOf);
  return [...byLeader].map(([name, some]) => `${some.map(({ id }) => id).join(', ')} ${name}`).join('; ');
}

function regionTable({ system, regions }: Status, now: number): string {
  const regionText = regionTextOf(regions);
  const rows = regions.flatMap((view) => {
    const { agents } = view;
    const region = regionText(view.region);
    if (agents.length === 0) {
      const note = isHeardElsewhere(view, system)
        ? 'other coordinators hear its agents: this one leads no shard'
        : absenceText(view, now);
      return [[region, 'none', '', '', note]];
    }
    return agents.map(({ id, version, load, draining, sick }) => [
      region,
      id,
      version,
      `${Math.round(load * 100)} %`,
      [...sick, ...(draining ? ['ending'] : [])].join(', '),
    ]);
  });
  return table([['REGION', 'AGENT', 'VERSION', 'LOAD', ''], ...rows]);
}

function streamTable(streams: Status['system']['streams'], regionText: RegionText): string {
  const rows = streams.map(({ region, bytes, max_bytes: limit }) => [
    regionText(region),
    `${(bytes / MIB).toFixed(1)} MiB`,
    `${Math.round(limit / MIB)} MiB`,
  ]);
  return table([['STREAM', 'HOLDS', 'LIMIT'], ...rows]);
}

function exportTable(endpoints: Status['system']['export']['endpoints']): string {
  const rows = endpoints.map(
    ({ endpoint, monitors, failing, last_success_at: at, points_dropped: dropped }) => [
      endpoint,
      String(monitors),
      failing ? 'FAILS' : 'works',
      at ?? 'never',
      String(dropped),
    ],
  );
  return table([['EXPORT', 'MONITORS', '', 'LAST SUCCESS', 'DROPPED'], ...rows]);
}

function errorTable(errors: Status['system']['errors']): string {
  const rows = errors.map(({ last_at: at, count, message, detail }) => [
    at.slice(0, 19).replace('T', ' '),
    `${count} ×`,
    detail === '' ? message : `${message} (${detail})`,
  ]);
  return table([['LAST ERRORS (UTC)', '', ''], ...rows]);
}

function findingTable(findings: readonly Finding[]): string {
  return table([['NOT HEALTHY', 'WHAT TO DO'], ...findings.map(({ what, todo }) => [what, todo])]);
}

function age(seconds: number | null): string {
  return seconds === null ? 'unknown' : lengthText(seconds);
}
