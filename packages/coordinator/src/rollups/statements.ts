import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { addEncoded, emptyHistogram, encodeHistogram } from '../domain/latency-histogram.ts';
import { DAY_MS } from '../domain/summary-range.ts';
import type { StatusTimes } from '../domain/uptime.ts';
import type { Progress } from './progress.ts';
import type { Counts, SeriesRow } from './series.ts';

/** Of one statement that deletes, so that the scheduling thread is not held. */
const CHUNK_ROWS = 1_000;

const PREPARED = new WeakMap<DatabaseSync, RollupStatements>();

/** What rolling up writes, as prepared statements on the writing connection. */
export class RollupStatements {
  readonly #isMonitor: StatementSync;
  readonly #insertHour: StatementSync;
  readonly #hour: StatementSync;
  readonly #updateHour: StatementSync;
  readonly #deleteHour: StatementSync;
  readonly #deleteDay: StatementSync;
  readonly #insertDay: StatementSync;
  readonly #insertUptime: StatementSync;
  readonly #expire: readonly StatementSync[];
  readonly #remove: readonly StatementSync[];
  readonly #takeRepair: StatementSync;
  readonly #resultsFrom: StatementSync;
  readonly #expectResultsFrom: StatementSync;
  readonly #progress: StatementSync;

  constructor(sqlite: DatabaseSync) {
    this.#isMonitor = sqlite.prepare('SELECT 1 FROM monitors WHERE id = ?');
    this.#insertHour = sqlite.prepare(`
      INSERT INTO rollup_hours (monitor_id, at, region, passed, degraded, failed, not_run, latency)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`);
    this.#hour = sqlite.prepare(`
      SELECT passed, degraded, failed, not_run, latency FROM rollup_hours
      WHERE monitor_id = ? AND at = ? AND region = ?`);
    this.#updateHour = sqlite.prepare(`
      UPDATE rollup_hours SET passed = passed + ?, degraded = degraded + ?, failed = failed + ?,
        not_run = not_run + ?, latency = ? WHERE monitor_id = ? AND at = ? AND region = ?`);
    this.#deleteHour = sqlite.prepare('DELETE FROM rollup_hours WHERE monitor_id = ? AND at = ?');
    this.#deleteDay = sqlite.prepare('DELETE FROM rollup_days WHERE monitor_id = ? AND at = ?');
    this.#insertDay = sqlite.prepare(`
      INSERT INTO rollup_days (monitor_id, at, region, passed, degraded, failed, not_run, latency)
      SELECT monitor_id, :day, region, sum(passed), sum(degraded), sum(failed), sum(not_run),
        merged_histogram(latency)
      FROM rollup_hours WHERE monitor_id = :monitorId AND at >= :day AND at < :day + ${DAY_MS}
      GROUP BY region`);
    this.#insertUptime = sqlite.prepare(`
      INSERT OR REPLACE INTO uptime_days (monitor_id, at, active_ms, degraded_ms, error_ms)
      VALUES (?, ?, ?, ?, ?)`);
    this.#expire = ['rollup_hours', 'rollup_days', 'uptime_days'].map((table) =>
      sqlite.prepare(`DELETE FROM ${table} WHERE monitor_id = ? AND at < ?`),
    );
    this.#remove = [
      `DELETE FROM rollup_hours WHERE (monitor_id, at, region) IN (
        SELECT monitor_id, at, region FROM rollup_hours WHERE monitor_id = ? LIMIT ${CHUNK_ROWS})`,
      `DELETE FROM rollup_days WHERE (monitor_id, at, region) IN (
        SELECT monitor_id, at, region FROM rollup_days WHERE monitor_id = ? LIMIT ${CHUNK_ROWS})`,
      // At most one a day.
      'DELETE FROM uptime_days WHERE monitor_id = ?',
      'DELETE FROM removed_monitors WHERE monitor_id = ?',
    ].map((text) => sqlite.prepare(text));
    this.#takeRepair = sqlite.prepare(
      'DELETE FROM rollup_repairs WHERE hour = ? AND monitor_id = ? AND marks = ?',
    );
    this.#resultsFrom = sqlite.prepare('SELECT results_from FROM rollup_progress');
    this.#expectResultsFrom = sqlite.prepare(
      'UPDATE rollup_progress SET results_from = min(results_from, ?)',
    );
    this.#progress = sqlite.prepare(`
      INSERT INTO rollup_progress (id, hour, phase, day, after_monitor) VALUES (1, ?, ?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET hour = excluded.hour, phase = excluded.phase, day = excluded.day,
        after_monitor = excluded.after_monitor`);
  }

  /** Prepared once per connection. */
  static of(sqlite: DatabaseSync): RollupStatements {
    let statements = PREPARED.get(sqlite);
    if (statements === undefined) {
      statements = new RollupStatements(sqlite);
      PREPARED.set(sqlite, statements);
    }
    return statements;
  }

  isMonitor(id: number): boolean {
    return this.#isMonitor.get(id) !== undefined;
  }

  /** Adds to what the hour has already: from slots off the monitor's grid, which lie elsewhere in the table. */
  addToHour(at: number, row: SeriesRow): void {
    const { monitor_id: id, region, passed, degraded, failed, not_run: notRun, latency } = row;
    const { changes } = this.#insertHour.run(id, at, region, passed, degraded, failed, notRun, latency);
    if (changes !== 0) return;
    const before = this.#hour.get(id, at, region) as Counts | undefined;
    const histogram = emptyHistogram();
    for (const part of [before?.latency, latency]) if (part) addEncoded(histogram, part);
    const merged = encodeHistogram(histogram);
    this.#updateHour.run(passed, degraded, failed, notRun, merged, id, at, region);
  }

  deleteHour(monitorId: number, at: number): void {
    this.#deleteHour.run(monitorId, at);
  }

  /** Adds up the day's hours, in place of what it was before. */
  writeDay(monitorId: number, day: number): void {
    this.#deleteDay.run(monitorId, day);
    this.#insertDay.run({ monitorId, day });
  }

  writeUptime(monitorId: number, day: number, { active, degraded, error }: StatusTimes): void {
    if (active + degraded + error === 0) return;
    this.#insertUptime.run(monitorId, day, Math.round(active), Math.round(degraded), Math.round(error));
  }

  /** Deletes the monitor's hours and days that are older. */
  expire(monitorId: number, keep: { hoursFrom: number; daysFrom: number }): void {
    const [hours, ...days] = this.#expire;
    hours?.run(monitorId, keep.hoursFrom);
    for (const statement of days) statement.run(monitorId, keep.daysFrom);
  }

  /** Deletes some of what a deleted monitor has left; the last time also that it has. */
  remove(monitorId: number): void {
    for (const statement of this.#remove) {
      if (statement.run(monitorId).changes >= CHUNK_ROWS) return;
    }
  }

  /** Results of this hour and later ones are all there. */
  resultsFrom(): number {
    const row = this.#resultsFrom.get() as { results_from: number } | undefined;
    return row?.results_from ?? 0;
  }

  /** At the latest from there on: the clock was ahead when the retention last deleted. */
  expectResultsFrom(day: number): void {
    this.#expectResultsFrom.run(day);
  }

  /** False when another result was recorded since the repair was read. */
  takeRepair(repair: { hour: number; monitor_id: number; marks: number }): boolean {
    return this.#takeRepair.run(repair.hour, repair.monitor_id, repair.marks).changes !== 0;
  }

  writeProgress({ hour, phase, day, afterMonitor }: Progress): void {
    this.#progress.run(hour, phase, day, afterMonitor);
  }
}
