import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { ByProject } from './test/support/by-project.ts';
import { databaseUsers, processStarters } from './test/support/tests-by-imports.ts';
import { TIME_LIMITS } from './test/support/time-limits.ts';

const ROOT = fileURLToPath(new URL('.', import.meta.url));

/** Threads and processes of the tests load the sources by themselves; compiled once they start twice as fast. */
process.env.NODE_COMPILE_CACHE ??= `${ROOT}node_modules/.cache/node`;

const BESIDE_THE_CODE = [
  'packages/*/src/**/*.test.ts',
  'deploy/**/*.test.ts',
  'test/*.test.ts',
  'test/conformance/**/*.test.ts',
  'test/refusals/*.test.ts',
  'test/loaded/*.test.ts',
  'test/simulation/oracle/*.test.ts',
];
const OF_SEVERAL_PARTS = ['test/{integration,e2e,browser}/**/*.test.ts'];
const SIMULATION = ['test/simulation/*.test.ts'];
const WORLDS = ['test/simulation/simulation.test.ts'];
const STARTING_PROCESSES = processStarters(ROOT, BESIDE_THE_CODE);

/**
 * Whether the databases of the tests are those of a PostgreSQL server (`npm run test:postgres`). Only tests that have a
 * database run then: they, or the support code that they import, import `test/support/database.ts`.
 */
const IS_POSTGRES = process.env.TESTS_STORE === 'postgres';
const WITH_DATABASE = databaseUsers(ROOT, [...BESIDE_THE_CODE, ...OF_SEVERAL_PARTS, ...SIMULATION]);

/** Those of them that run on SQLite only, and why. A single test says so beside its `skipIf(IS_POSTGRES)`. */
const ONLY_ON_SQLITE = [
  // Files, threads, journals and locks of SQLite.
  'packages/coordinator/src/store/{crash,migrate,open,writing}.test.ts',
  'packages/coordinator/src/store/sqlite/*.test.ts',
  'test/integration/locked-database.test.ts',
  // Starts, builds, backups and releases as the documents have them, with the database that is there by default.
  'test/e2e/{bundles,operations,recovery,release,start,start-cluster}.test.ts',
  // Messages between the threads of a store, and reads that such a thread holds back.
  'packages/coordinator/src/declaration/many-links.test.ts',
  'packages/coordinator/src/pages/{page-cache,domains/domains}.test.ts',
  // SQLite's plans of queries.
  'packages/coordinator/src/store/{alerts,incidents,results}/query-plans.test.ts',
  // It counts deleted rows by the hour. PostgreSQL drops results by the day (`result-days.test.ts`).
  'packages/coordinator/src/history/retention.test.ts',
  // A leader with SQLite goes on checking while nothing can be written. With PostgreSQL it stops after 3 s, because
  // another coordinator may lead then (`test/integration/take-over.test.ts`).
  'test/integration/{deadman,held-database}.test.ts',
  // One in a hundred of its worlds is in a database. `memory-store.test.ts` compares memory with either database.
  ...WORLDS,
  // A disk that holds up the writing thread.
  'test/e2e/stop-on-stalled-disk.test.ts',
  // An alarm and panels about the journal and the disk of the database, which PostgreSQL does not report.
  'test/integration/{alert-rules,dashboards}.test.ts',
  // What pages look like and do in a browser. The tests of `pages/` and `dashboard/` run on PostgreSQL.
  'test/browser/*.test.ts',
  // What Terraform makes of the API's answers, which `contract.test.ts` compares on PostgreSQL too.
  'test/e2e/terraform/*.test.ts',
  // An earlier commit may make other tables, and the databases of the tests have those of this one.
  'test/e2e/versions.test.ts',
  // 1,000 checks a second while processes are killed. It was not tried on PostgreSQL yet.
  'test/e2e/kill.test.ts',
  // What clients and lost servers do to NATS. Their messages are refused before they reach a database.
  'test/integration/{flood,garbage,nats-cluster-service}.test.ts',
  // They start a server of PostgreSQL by themselves, in `npm test`.
  'packages/coordinator/src/store/postgres/*.test.ts',
  'test/e2e/{postgres,take-over}.test.ts',
  'test/integration/{lost-commits,take-over}.test.ts',
];

/** The files of these patterns that run on the databases of this run. */
function filesOf(...patterns: readonly string[]): string[] {
  if (!IS_POSTGRES) return [...patterns];
  const left = new Set(globSync(ONLY_ON_SQLITE, { cwd: ROOT }));
  const having = new Set(WITH_DATABASE.filter((file) => !left.has(file)));
  return globSync([...patterns], { cwd: ROOT }).filter((file) => having.has(file));
}

/** Files that need seconds of CPU or of waiting by their nature. `npm run check` leaves them out (decision 0232). */
const LONG = [
  // Dispatch for thousands of monitors, over minutes of its clock.
  'packages/coordinator/src/checks/overload.test.ts',
  // Journals of 72 MB, and the seconds until the thread of a store moves one.
  'packages/coordinator/src/store/sqlite/checkpoints.test.ts',
  // It holds the event loop until times are over.
  'packages/agent/src/after-reading.test.ts',
  // Name servers that do not answer: its tests wait for time-outs.
  'packages/agent/src/dns/client.test.ts',
  // Each of a hundred defective answers over a socket of its own.
  'packages/agent/src/probes/http/hostile.test.ts',
  // Its tests roll up hours of results.
  'packages/coordinator/src/history/rollups.test.ts',
  // The life of an incident at each vendor.
  'test/conformance/lives.test.ts',
  // Its tests wait for totals that are stored a second later.
  'packages/coordinator/src/export/metrics-export.test.ts',
  // It sends every request that there is.
  'packages/coordinator/src/store/request-plans.test.ts',
  // Each test starts the threads of a store.
  'packages/coordinator/src/store/writing.test.ts',
];

/** Tests that load the machine so much that others beside them would be late. */
const ALONE = ['test/e2e/kill.test.ts', 'test/e2e/stop-on-stalled-disk.test.ts'];

/**
 * Tests with five to ten coordinators in one process. On a busy machine their leases of a real database would expire.
 * Two at a time wait for most of their time; the worlds, which have the lowest priority, use the processors meanwhile.
 */
const MANY_COORDINATORS = ['test/integration/{changes,take-over,lost-commits,shards}.test.ts'];

/** Two workers work while two wait. The projects of one group have the same number. */
const BESIDE = { maxWorkers: 4, isolate: false };

/** Tests of several parts wait for seconds. They poll a service or a database, which takes CPU of the parts. */
const SELDOM = { expect: { poll: { timeout: TIME_LIMITS.pollMs, interval: 200 } } };

/** Tests of several parts use a fifth of a processor each. */
const SEVERAL_PARTS = { maxWorkers: 7, isolate: false, ...SELDOM };

/** What needs nothing but processors takes what others leave of them. */
const LOW_PRIORITY = { setupFiles: ['test/support/low-priority.ts'] };

/** One worker for the worlds, which come first (`by-project.ts`), and two for tests with many coordinators. */
const WORLDS_AND_TWO = 3;

/** `npm run check` sets how many worlds it simulates. They are its last group and have all processors. */
const IS_QUICK = process.env.SIMULATED_WORLDS !== undefined;
/** Those of the check. They share the workers of the tests beside the code: workers of their own would load the sources again. */
const QUICK_SIMULATION = ['test/simulation/{false-alarms,mutations,stories*}.test.ts'];

/** Groups of tests run one after the other. None has the number 0, which would run last. */
const project = (
  groupOrder: number,
  test: {
    name: string;
    include: string[];
    exclude?: string[];
    maxWorkers: number;
    isolate?: boolean;
    setupFiles?: string[];
    expect?: (typeof SELDOM)['expect'];
  },
) => ({ extends: true as const, test: { ...test, sequence: { groupOrder } } });

/**
 * Tests beside the code keep the processors busy. Tests of several parts wait for four fifths of their time, and those
 * in a browser work: they are one project, so that seven of them, mixed, keep the processors busy too. Fuzzing has what
 * they leave. Files of a project share its workers, each of which loads the sources once (decision 0232). The test that kills processes at 1,000 checks a second
 * has only the planted defects and the other simulations beside it, with the lowest priority (decision 0232).
 */
export default defineConfig({
  test: {
    pool: 'forks',
    // Time-outs end what hangs. On a busy machine everything else takes many times longer than on a quiet one.
    testTimeout: TIME_LIMITS.testMs,
    hookTimeout: TIME_LIMITS.testMs,
    expect: { poll: { timeout: TIME_LIMITS.pollMs } },
    globalSetup: [
      'test/support/temporary-folder.ts',
      ...(IS_POSTGRES ? ['test/support/postgres-for-tests.ts'] : []),
    ],
    setupFiles: [
      'test/support/leaks/no-leaks.ts',
      'test/support/compared-secrets.ts',
      'test/support/fresh-connections.ts',
      'test/support/secrets-in-texts.ts',
    ],
    sequence: { sequencer: ByProject },
    projects: [
      project(1, {
        name: 'unit',
        include: filesOf(...BESIDE_THE_CODE, ...(IS_QUICK ? QUICK_SIMULATION : [])),
        exclude: [...STARTING_PROCESSES, ...LONG, ...WORLDS],
        ...BESIDE,
      }),
      project(1, { name: 'processes', include: filesOf(...STARTING_PROCESSES), ...BESIDE }),
      project(1, { name: 'long', include: filesOf(...LONG), ...BESIDE }),
      project(2, {
        name: 'system',
        include: filesOf(...OF_SEVERAL_PARTS),
        exclude: [...ALONE, ...MANY_COORDINATORS],
        ...SEVERAL_PARTS,
      }),
      project(2, {
        name: 'fuzz',
        include: filesOf('test/fuzz/*.test.ts'),
        ...SEVERAL_PARTS,
        ...LOW_PRIORITY,
      }),
      ...(IS_QUICK
        ? []
        : [
            project(3, {
              name: 'simulation',
              include: filesOf(...SIMULATION),
              exclude: WORLDS,
              ...BESIDE,
              ...LOW_PRIORITY,
            }),
          ]),
      project(3, { name: 'alone', include: filesOf(...ALONE), maxWorkers: BESIDE.maxWorkers, ...SELDOM }),
      project(4, {
        name: 'worlds',
        include: filesOf(...WORLDS),
        maxWorkers: WORLDS_AND_TWO,
        isolate: false,
        ...LOW_PRIORITY,
      }),
      project(4, {
        name: 'many coordinators',
        include: filesOf(...MANY_COORDINATORS),
        maxWorkers: WORLDS_AND_TWO,
        ...SELDOM,
      }),
    ],
  },
});
