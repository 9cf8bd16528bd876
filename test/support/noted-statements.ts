import { DatabaseSync } from 'node:sqlite';
import type { StoreWorker, StoreWorkers } from '@svc/coordinator/store/sqlite/store-thread.ts';
import type { Store, Transaction } from '@svc/coordinator/store/store.ts';
import pg from 'pg';
import { STORE_IN_PROCESS } from './store-in-process.ts';

/** A statement that a store ran, and the parameters of its last run. */
export type NotedStatement = { readonly text: string; readonly parameters: readonly unknown[] };

/** Indexes of large tables that have an entry only for rows which wait or last. */
const SMALL_INDEXES: ReadonlySet<string> = new Set([
  'deliveries_due',
  'incidents_ongoing',
  'incidents_open',
  'region_absences_lasting',
]);

/** Notes the statements that a store runs, for tests of how the database carries them out. */
export class NotedStatements {
  /** The workers with which the test opens a store of SQLite. */
  readonly workers: StoreWorkers = {
    writer: (data) => this.#noted(STORE_IN_PROCESS.writer(data)),
    reader: (data) => this.#noted(STORE_IN_PROCESS.reader(data)),
  };
  readonly #parameters = new Map<string, readonly unknown[]>();

  /** Forgets the statements so far. */
  clear(): void {
    this.#parameters.clear();
  }

  all(): NotedStatement[] {
    return Array.from(this.#parameters, ([text, parameters]) => ({ text, parameters }));
  }

  /**
   * Notes the statements that all connections of this process to
   * PostgreSQL run from now on. Their parameters are written as `$1`.
   *
   * @returns a function that ends this
   */
  noteConnections(): () => void {
    const { prototype } = pg.Connection;
    const { parse, bind } = prototype;
    const texts = new WeakMap<pg.Connection, Map<string, string>>();
    const note = (text: string, parameters: readonly unknown[]) => this.#parameters.set(text, parameters);
    prototype.parse = function (this: pg.Connection, query, more) {
      const known = texts.get(this) ?? new Map<string, string>();
      texts.set(this, known.set(query.name, query.text));
      parse.call(this, query, more);
    };
    prototype.bind = function (this: pg.Connection, config, more) {
      const text = texts.get(this)?.get(config?.statement ?? '');
      if (text !== undefined) note(text, config?.values ?? []);
      bind.call(this, config, more);
    };
    return () => Object.assign(prototype, { parse, bind });
  }

  /** The steps of each statement's plan, in the SQLite database at `path`. */
  plans(path: string): Map<string, string[]> {
    const database = new DatabaseSync(path, { readOnly: true });
    try {
      // Plans name the functions of svc's connections.
      for (const name of ['report_sums', 'phase_sums', 'merged_histogram']) {
        database.aggregate(name, { start: 0, step: (sum: number) => sum, varargs: true });
      }
      for (const name of ['keep_result_day', 'database_now'])
        database.function(name, { varargs: true }, () => null);
      const stepsOf = (text: string) =>
        database.prepare(`EXPLAIN QUERY PLAN ${text.replaceAll(/\?::\w+/g, '?')}`).all();
      return new Map(
        Array.from(this.#parameters.keys(), (text) => [
          text,
          stepsOf(text).map(({ detail }) => String(detail)),
        ]),
      );
    } finally {
      database.close();
    }
  }

  /**
   * The statements that read all rows of one of these tables, each
   * with the steps that do so, in the SQLite database at `path`.
   */
  scans(path: string, tables: readonly string[]): Map<string, string[]> {
    const found = new Map<string, string[]>();
    for (const [text, steps] of this.plans(path)) {
      // A plan has the names that the statement gives to tables. A subquery may have the name of a table too.
      const aliases = new RegExp(`\\b(?:${tables.join('|')})"?\\s+(?:as\\s+)?"?(\\w+)`, 'gi');
      const names = new Set([...tables, ...Array.from(text.matchAll(aliases), ([, name = '']) => name)]);
      const subqueries = new Set(steps.map((step) => /^(?:CO-ROUTINE|MATERIALIZE) (\w+)/.exec(step)?.[1]));
      const isSorted = steps.some((step) => step.includes('TEMP B-TREE FOR ORDER BY'));
      const isBounded = /\blimit \?\s*$/i.test(text) && !/\bwhere\b/i.test(text) && !isSorted;
      const scans = steps.filter((step) => {
        const [, name = '', index = ''] = /^SCAN (\w+)(?:.* INDEX (\w+))?/.exec(step) ?? [];
        return names.has(name) && !subqueries.has(name) && !SMALL_INDEXES.has(index) && !isBounded;
      });
      if (scans.length > 0) found.set(text, scans);
    }
    return found;
  }

  #noted(worker: StoreWorker): StoreWorker {
    const { postMessage } = worker;
    type Noted = { sql?: string; parameters?: unknown[]; rows?: unknown[][] };
    worker.postMessage = (message: { request: Noted & { steps?: Noted[] } }) => {
      for (const { sql, parameters, rows } of [message.request, ...(message.request.steps ?? [])])
        if (sql !== undefined) this.#parameters.set(sql, parameters ?? rows?.at(-1) ?? []);
      postMessage.call(worker, message);
    };
    return worker;
  }
}

/** A node of a plan of PostgreSQL (EXPLAIN, FORMAT JSON). */
type PlanNode = {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Filter?: string;
  readonly Plans?: readonly PlanNode[];
};

const EXPLAINED = /^\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH)\b/i;

/**
 * The statements that would read all rows of one of these tables, each with the steps that do so,
 * in a PostgreSQL database whose tables had 10 million rows each. Each statement has two plans:
 * the plan for its parameters, and the plan for any parameters. PostgreSQL uses the second one for
 * a prepared statement as soon as it does not seem more expensive. Each table must have a row.
 */
export async function postgresScans(
  store: Store,
  statements: readonly NotedStatement[],
  tables: readonly string[],
): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  const undo = new Error('undo');
  const explainAll = async (tx: Transaction) => {
    const rows = await tx.query<{ name: string; size: number }>(
      `SELECT c.relname AS name, pg_relation_size(c.oid) AS size FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
       WHERE c.relkind = 'r' AND coalesce(i.inhparent, c.oid) = ANY (CAST(? AS regclass[]))`,
      [`{${tables.join()}}`],
    );
    // The partition of the next day is empty, and stays so in this transaction.
    const large = new Set(rows.filter(({ size }) => size > 0).map(({ name }) => name));
    // The planner multiplies the present pages of a table by its rows per
    // page. A transaction that is not committed changes statistics for nobody
    // else, and nothing that autovacuum learns in between changes the plans.
    await tx.query(
      "UPDATE pg_class SET reltuples = 10000000, relpages = 1 WHERE relkind = 'r' AND relname = ANY (CAST(? AS text[]))",
      [`{${[...large].join()}}`],
    );
    await tx.query('DELETE FROM pg_statistic');
    for (const { text, parameters } of statements) {
      if (!EXPLAINED.test(text)) continue;
      const plans = [
        ...(await explained(tx, text, parameters)),
        ...(await explainedForAny(tx, text, parameters.length)),
      ];
      const scans = plans.flatMap((plan) => scansIn(plan, large));
      if (scans.length > 0) found.set(text, [...new Set(scans)]);
    }
    throw undo;
  };
  await store.transaction(explainAll).catch((error: unknown) => {
    if (error !== undo) throw error;
  });
  return found;
}

/**
 * The reads of whole tables in a plan. An index may be read from its end as far as a LIMIT needs it. With a
 * condition that does not name its first column, PostgreSQL reads the whole of an index: that of results begins
 * with the slot.
 */
function scansIn(node: PlanNode, tables: ReadonlySet<string>, isLimited = false): string[] {
  const { 'Node Type': type, 'Relation Name': name = '', 'Index Name': index = '', Plans = [] } = node;
  const { 'Index Cond': condition } = node;
  const isBounded = SMALL_INDEXES.has(index) || (isLimited && node.Filter === undefined);
  const isUnordered =
    condition === undefined
      ? !isBounded
      : /^slot_results_\d+_pkey/.test(index) && !/\bslot\b/.test(condition);
  const isWhole = type === 'Seq Scan' || (/^(?:Index|Bitmap Index)/.test(type) && isUnordered);
  const own = isWhole && (tables.has(name) || type.startsWith('Bitmap')) ? [`${type} on ${name}`] : [];
  const keepsLimit = /^(?:Limit|Append|Merge Append|Index|Subquery Scan|Result)/.test(type);
  const isBelowLimit = type === 'Limit' || (isLimited && keepsLimit);
  return [...own, ...Plans.flatMap((plan) => scansIn(plan, tables, isBelowLimit))];
}

async function explained(
  tx: Transaction,
  text: string,
  parameters: readonly unknown[] = [],
): Promise<PlanNode[]> {
  const values = parameters as (string | Uint8Array | null)[];
  const rows = await tx.query<{ 'QUERY PLAN': string }>(`EXPLAIN (FORMAT JSON) ${text}`, values);
  return rows.flatMap((row) =>
    (JSON.parse(row['QUERY PLAN']) as { Plan: PlanNode }[]).map(({ Plan }) => Plan),
  );
}

async function explainedForAny(tx: Transaction, text: string, parameters: number): Promise<PlanNode[]> {
  await tx.query("SELECT set_config('plan_cache_mode', 'force_generic_plan', true)");
  await tx.query(`PREPARE noted AS ${text}`);
  const any = Array(parameters).fill('NULL').join();
  const plans = await explained(tx, `EXECUTE noted${any === '' ? '' : `(${any})`}`);
  await tx.query('DEALLOCATE noted');
  await tx.query("SELECT set_config('plan_cache_mode', 'auto', true)");
  return plans;
}
