import { table } from '../table.ts';
import { absenceText, lengthText } from './ages.ts';
import type { Status } from './answers.ts';
import type { Finding } from './judge.ts';

const MIB = 1_024 ** 2;

/** The status for people. @param now epoch ms */
export function shownStatus(
  baseUrl: string,
  { system, regions }: Status,
  findings: readonly Finding[],
  now: number,
): string {
  const sections = [
    coordinator(baseUrl, system),
    regions.length === 0 ? 'No region has an agent yet.\n' : regionTable(regions, now),
    system.streams.length === 0 ? '' : streamTable(system.streams),
    system.export.endpoints.length === 0 ? '' : exportTable(system.export.endpoints),
    system.errors.length === 0 ? '' : errorTable(system.errors),
    findings.length === 0 ? 'healthy\n' : findingTable(findings),
  ];
  return sections.filter((section) => section !== '').join('\n');
}

function coordinator(
  baseUrl: string,
  { version, leading, parts, monitors, queues }: Status['system'],
): string {
  const works = Object.entries(parts).map(([name, isWorking]) => `${name} ${isWorking ? 'works' : 'FAILS'}`);
  const counts = Object.entries(monitors ?? {}).map(([status, count]) => `${count} ${status}`);
  const rows = [
    [
      'Coordinator',
      `${baseUrl}, version ${version}, ${leading ? 'leads' : 'DOES NOT LEAD'}, ${works.join(', ')}`,
    ],
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

function regionTable(regions: Status['regions'], now: number): string {
  const rows = regions.flatMap((view) => {
    const { region, agents } = view;
    if (agents.length === 0) return [[region, 'none', '', '', absenceText(view, now)]];
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

function streamTable(streams: Status['system']['streams']): string {
  const rows = streams.map(({ region, bytes, max_bytes: limit }) => [
    region,
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
