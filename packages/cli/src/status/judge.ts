import type { RegionText } from '@svc/shared/regions.ts';
import { utcText } from '@svc/shared/time-texts.ts';
import { regionTextOf, type Status } from './answers.ts';

/** A fault of the service, and what the operator should do. */
export type Finding = { readonly what: string; readonly todo: string };

/*
 * Thresholds of the findings. The alert rules for svc's own metrics
 * have the same thresholds for waiting results and full streams.
 */
const RESULTS_AGE_SECONDS = 60;
const ROLLUPS_BEHIND_SECONDS = 2 * 3_600;
const STREAM_SHARE = 0.8;
/** A region without agents is a finding only if it had an agent within this time, ms. */
const MISSED_FOR_MS = 24 * 3_600_000;

/**
 * Returns all faults of the service, the most important
 * first. An empty list means that the service is healthy.
 *
 * @param now epoch ms
 */
export function findingsIn({ system, regions }: Status, now: number): Finding[] {
  const regionText = regionTextOf(regions);
  return [
    ...partFindings(system),
    ...queueFindings(system),
    ...regions.flatMap((view) => regionFindings(view, regionText(view.region), system, now)),
    ...streamFindings(system, regionText),
    ...exportFindings(system),
  ];
}

function partFindings({
  leading,
  another_leads: isLedElsewhere,
  parts,
  shards,
}: Status['system']): Finding[] {
  const unled = shards.filter(({ led }) => !led);
  const broken = Object.entries(parts).flatMap(([name, works]) => (works ? [] : [name]));
  return [
    ...broken.map((name) => ({
      what: `${name} does not work`,
      todo: TODO[name] ?? 'read the log of the coordinator',
    })),
    ...(leading || isLedElsewhere
      ? []
      : [{ what: 'no coordinator leads: nothing is checked', todo: 'read its log, and start it again' }]),
    ...(unled.length === 0 || unled.length === shards.length
      ? []
      : unled.map(({ id }) => ({
          what: `no coordinator leads shard ${id}: its monitors are not checked`,
          todo: 'if it stays so for 10 s, read the logs of the coordinators',
        }))),
  ];
}

const TODO: Readonly<Record<string, string>> = {
  nats: 'look at the NATS server and the way to it; "svc doctor coordinator" tries it',
  database: 'look at the disk of the data folder: it is full, read-only or does not answer',
};

function queueFindings({ queues }: Status['system']): Finding[] {
  if (queues === null) return [];
  const { results_age_seconds: age, rollups_behind_seconds: behind } = queues;
  return [
    ...(age !== null && age > RESULTS_AGE_SECONDS
      ? [
          {
            what: `the oldest result has waited ${Math.round(age)} s to be recorded`,
            todo: 'the disk of the database is too slow or full, or there are more checks than one coordinator records',
          },
        ]
      : []),
    ...(behind !== null && behind > ROLLUPS_BEHIND_SECONDS
      ? [
          {
            what: `summaries are ${Math.round(behind / 3_600)} hours behind`,
            todo: 'the log of the coordinator has the reason',
          },
        ]
      : []),
  ];
}

/**
 * Whether a region without agents is healthy nevertheless: another coordinator
 * leads a shard and may hear the agents, and the region is not reported as absent.
 */
export function isHeardElsewhere(
  { absent_since: since }: Status['regions'][number],
  { another_leads: isLedElsewhere }: Status['system'],
): boolean {
  return isLedElsewhere && since === null;
}

/** @param region what people see of the region */
function regionFindings(
  view: Status['regions'][number],
  region: string,
  system: Status['system'],
  now: number,
): Finding[] {
  const { agents, last_seen_at: seenAt } = view;
  const sick = agents.flatMap(({ id, machine, sick: faults }) =>
    faults.map((fault) => ({
      what: `the agent ${id} in ${region}${machine === null ? '' : ` on ${machine}`} reports ${fault}`,
      todo: SICK[fault] ?? 'read its log',
    })),
  );
  const isMissed =
    agents.length === 0 && !isHeardElsewhere(view, system) && seenAt !== null && now - seenAt < MISSED_FOR_MS;
  return isMissed
    ? [
        {
          what: `${region} has had no agent ${absenceText(view, now)}`,
          todo: 'start an agent there, or look at its log',
        },
      ]
    : sick;
}

const SICK: Readonly<Record<string, string>> = {
  'network-down': 'look at the uplink, the gateway and the name servers of its machine',
  starved: 'give its machine, or its cgroup, more CPU',
};

function streamFindings({ streams }: Status['system'], regionText: RegionText): Finding[] {
  return streams
    .filter(({ bytes, max_bytes: limit }) => limit > 0 && bytes > STREAM_SHARE * limit)
    .map(({ region, bytes, max_bytes: limit }) => ({
      what: `the stream of ${regionText(region)} is ${Math.round((100 * bytes) / limit)} % full: its oldest results will be lost`,
      todo: 'find out why results are not recorded, or raise SVC_RESULTS_MAX_BYTES',
    }));
}

function exportFindings({ export: { endpoints } }: Status['system']): Finding[] {
  return endpoints
    .filter(({ failing }) => failing)
    .map(({ endpoint, last_error: error }) => ({
      what: `the export to ${endpoint} fails${error === null ? '' : `: ${error.message}`}`,
      todo: 'look at the endpoint; "svc otlp-test MONITOR" tries it',
    }));
}

/** Formats a length of time for people. */
export function lengthText(seconds: number): string {
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} days`;
}

/**
 * Says for how long and since when a region has no agent: `for 3 min, since 2026-11-22 10:00:00 UTC`, or
 * `never had one`. The length is 0 s when the clock of this machine is behind the coordinator's clock.
 *
 * @param now epoch ms
 */
export function absenceText(
  { absent_since: since, last_seen_at: seenAt }: Status['regions'][number],
  now: number,
): string {
  const at = since ?? seenAt;
  if (at === null) return 'never had one';
  return `for ${lengthText(Math.max(0, now - at) / 1_000)}, since ${utcText(at)}`;
}
