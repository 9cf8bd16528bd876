import { wholeMs } from '../queries.ts';
import type { Store, Transaction } from '../store.ts';

/** When regions last had a live agent, and which regions have none. Instants are epoch ms. */
export type StoredPresence = {
  lastSeen: readonly { region: string; at: number }[];
  /** Regions without a live agent now. */
  absent: readonly string[];
};

/** The beginning or the end of an interval in which a region had no live agent. */
export type AbsenceEdge = { region: string; kind: 'began' | 'ended'; at: number };

export async function storedPresence(store: Store): Promise<StoredPresence> {
  const seen = await store.read.selectFrom('region_presence').selectAll().execute();
  const absences = await lastingAbsences(store);
  return {
    lastSeen: seen.map(({ region, last_seen_at: at }) => ({ region, at })),
    absent: [...absences.keys()],
  };
}

/**
 * The beginning of each absence that still lasts, epoch ms, by region. If a region loses its agents, its absence
 * is stored at once. If it has no agent when a leadership begins, or when a monitor first declares it, its absence
 * is stored at most about a minute later.
 */
export async function lastingAbsences(store: Store): Promise<ReadonlyMap<string, number>> {
  const rows = await store.read
    .selectFrom('region_absences')
    .select(['region', 'started_at'])
    .where('ended_at', 'is', null)
    .execute();
  return new Map(rows.map((row) => [row.region, row.started_at]));
}

/**
 * The last time each region had a live agent, epoch ms. While the region has a live agent, the value is at
 * most a minute old. A region that never had an agent is missing.
 */
export async function regionsLastSeen(store: Store): Promise<ReadonlyMap<string, number>> {
  const rows = await store.read.selectFrom('region_presence').selectAll().execute();
  return new Map(rows.map((row) => [row.region, row.last_seen_at]));
}

/** Stores when these regions last had a live agent. */
export async function writeLastSeen(tx: Transaction, lastSeen: StoredPresence['lastSeen']): Promise<void> {
  await tx.runEach(
    `INSERT INTO region_presence (region, last_seen_at) VALUES (?, ?)
     ON CONFLICT (region) DO UPDATE SET last_seen_at = excluded.last_seen_at`,
    lastSeen.map(({ region, at }) => [region, wholeMs(at)]),
  );
}

/**
 * The statement that begins the absence of a region, unless the region
 * is absent already: the leaders of several shards see the same absence.
 */
const BEGIN = `INSERT INTO region_absences (started_at, region) SELECT ?::bigint, ?::text
  WHERE NOT EXISTS (SELECT 1 FROM region_absences WHERE region = ? AND ended_at IS NULL)`;

/** Writes the edges in their order, because an absence may begin and end between two writes. */
export async function writeAbsences(tx: Transaction, edges: readonly AbsenceEdge[]): Promise<void> {
  for (const { kind, run } of runsOf(edges)) {
    await tx.runEach(
      kind === 'began'
        ? BEGIN
        : 'UPDATE region_absences SET ended_at = ? WHERE region = ? AND ended_at IS NULL',
      run.map(({ region, at }) => [wholeMs(at), region, ...(kind === 'began' ? [region] : [])]),
    );
  }
}

/** Joins neighbouring edges of the same kind into runs. */
function runsOf(edges: readonly AbsenceEdge[]): { kind: AbsenceEdge['kind']; run: AbsenceEdge[] }[] {
  const runs: { kind: AbsenceEdge['kind']; run: AbsenceEdge[] }[] = [];
  for (const edge of edges) {
    const last = runs.at(-1);
    if (last?.kind === edge.kind) last.run.push(edge);
    else runs.push({ kind: edge.kind, run: [edge] });
  }
  return runs;
}
