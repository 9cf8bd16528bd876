import { DatabaseSync } from 'node:sqlite';
import { insertReports } from '@svc/coordinator/store/results/insert-reports.ts';
import {
  FIXED_NUMBERS,
  RegionNumbers,
  storedRegionNumbers,
} from '@svc/coordinator/store/results/region-numbers.ts';
import { PHASES, readReports, type SlotReport } from '@svc/coordinator/store/results/report-bytes.ts';
import type { Store } from '@svc/coordinator/store/store.ts';
import type { CheckResult, Outcome } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';

type Optional =
  | 'reason'
  | 'started_at'
  | 'latency'
  | 'phases'
  | 'status_code'
  | 'error_message'
  | 'timed_out';

/**
 * A result to be recorded. If `attempts` is left out and there is a latency, one attempt was the whole check.
 */
export type GivenResult = {
  slot: number;
  monitor_id: number;
  region: string;
  outcome: Outcome;
  version?: number;
  agent?: string | null;
  recorded_at?: number;
  attempts?: CheckResult['attempts'];
  certificate_expires_at?: number;
} & { [Member in Optional]?: CheckResult[Member] | null };

/** Records results as the recorder does, without their effects. */
export async function addResults(store: Store, ...results: readonly GivenResult[]): Promise<void> {
  const batches = Map.groupBy(results, ({ slot, recorded_at: recordedAt = slot }) => recordedAt);
  const numbers = await storedRegionNumbers(store);
  const steps = [...batches].flatMap(([recordedAt, batch]) =>
    insertReports(batch.map(reportOf), recordedAt, numbers),
  );
  await store.commit(steps);
}

function reportOf({
  slot,
  monitor_id: monitorId,
  region,
  agent = null,
  recorded_at: _,
  ...members
}: GivenResult) {
  const given = Object.entries(members).filter(([, value]) => value !== null && value !== undefined);
  const found = { version: 1, ...Object.fromEntries(given) } as Omit<CheckResult, 'attempts'>;
  const { outcome, latency, status_code, error_message } = found;
  const only = { outcome, started_ms: 0, latency, status_code, error_message };
  const attempts = latency === undefined ? [] : [JSON.parse(JSON.stringify(only))];
  return { monitorId, slot, region: region as Region, agent, found: { attempts, ...found } };
}

/** A recorded result. */
export type StoredResult = SlotReport & { readonly slot: number; readonly monitor_id: number };

/** All results of slots from `since` on, by slot, monitor and region. */
export async function storedResults({ read }: Pick<Store, 'read'>, since = 0): Promise<StoredResult[]> {
  const rows = await read
    .selectFrom('slot_results')
    .select(['slot', 'monitor_id', 'reports'])
    .where('slot', '>=', since)
    .orderBy('slot')
    .orderBy('monitor_id')
    .execute();
  const numbers = await storedRegionNumbers({ read });
  return rows.flatMap(({ slot, monitor_id, reports }) =>
    readReports(slot, reports, numbers).map((report) => ({ ...report, slot, monitor_id })),
  );
}

/**
 * Opens the database of a coordinator for reading. It has a table `results`, with a row
 * for each result: queries of tests and benchmarks need not know how results are packed.
 */
export function openResults(path: string, timeout = 60_000): DatabaseSync {
  const database = new DatabaseSync(path, { readOnly: true, timeout });
  const isPacked = database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'slot_results'").get();
  // In a database of an older version, `results` is a table.
  if (isPacked === undefined) return database;
  const numbers = numbersIn(database);
  database.function('result_rows', { deterministic: true }, (slot, reports) =>
    JSON.stringify(readReports(Number(slot), reports as Uint8Array, numbers).map(rowOf)),
  );
  database.exec(`
    PRAGMA temp_store = MEMORY;
    CREATE TEMP VIEW results AS SELECT r.slot, r.monitor_id, e.value ->> 'region' AS region,
      e.value ->> 'outcome' AS outcome, e.value ->> 'version' AS version, CAST(e.value ->> 'latency' AS REAL) AS latency,
      e.value ->> 'status_code' AS status_code, e.value ->> 'error_message' AS error_message, e.value AS detail,
      (SELECT name FROM main.agent_names WHERE number = e.value ->> 'agent') AS agent,
      e.value ->> 'recorded_at' AS recorded_at
    FROM main.slot_results r, json_each(result_rows(r.slot, r.reports)) e`);
  return database;
}

function numbersIn(database: DatabaseSync): RegionNumbers {
  const isThere = database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'own_regions'").get();
  if (isThere === undefined) return FIXED_NUMBERS;
  const own = database.prepare('SELECT id, name FROM own_regions').all();
  return new RegionNumbers(own as { id: number; name: string }[]);
}

/** All rows of the table `results` that {@link openResults} makes, for another database. */
export async function resultRows(read: Store['read']): Promise<object[]> {
  const [rows, agents] = await Promise.all([
    storedResults({ read }),
    read.selectFrom('agent_names').select(['number', 'name']).execute(),
  ]);
  const names = new Map(agents.map(({ number, name }) => [number, name]));
  return rows.map((row) => ({
    ...row,
    agent: row.agent === null ? null : (names.get(row.agent) ?? null),
    detail: rowOf(row),
  }));
}

function rowOf({ phases, ...report }: SlotReport) {
  return {
    ...report,
    ...(phases === undefined ? {} : { phases: PHASES.map((phase) => phases[phase] ?? null) }),
  };
}
