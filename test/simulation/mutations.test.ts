import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { MemoryStore } from './memory-store.ts';
import type { Finding } from './mutations/mutant.ts';
import type { Answered } from './mutations/mutants.ts';
import { MUTATIONS, sourceOf } from './mutations/mutations.ts';
import { simulate } from './simulation.ts';
import { QUIET } from './world.ts';

/** Number of worlds within which a defect must be found. */
const WORLDS = 3_000;
/** The quick check simulates fewer worlds than `npm test`, and leaves the defects out. */
const isQuick = process.env.SIMULATED_WORLDS !== undefined;

const MUTANTS = fileURLToPath(new URL('./mutations/mutants.ts', import.meta.url));

/** The process that runs all defects. `ended` settles when the process ends, after the last test. */
let mutants: { readonly child: ChildProcess; readonly ended: Promise<never> } | undefined;
afterAll(async () => {
  mutants?.child.disconnect();
  await mutants?.ended.catch(() => {});
});

describe('a defect that is made on purpose', () => {
  test.each(MUTATIONS)('$name: its place is there, once', (mutation) => {
    const source = readFileSync(sourceOf(mutation), 'utf8');
    for (const { from } of [mutation, ...(mutation.and ?? [])]) expect(source.split(from)).toHaveLength(2);
  });

  test.each(MUTATIONS.filter(({ story }) => story !== undefined))(
    '$name: without it all is well in its story',
    async ({ story }) => {
      const outcome = await simulate({ ...QUIET, ...story }, new MemoryStore(), { isTold: false });
      expect(outcome.violations).toEqual([]);
    },
  );

  test.skipIf(isQuick).each(MUTATIONS.map(({ name }, number) => ({ name, number })))(
    '$name: the oracle finds it',
    async ({ name, number }) => {
      const finding = await findingOf(number);
      console.log(`${name}: ${describeFinding(finding)}`);
      expect(finding).not.toBeNull();
    },
  );
});

function startMutants(): NonNullable<typeof mutants> {
  const child = fork(MUTANTS, [`${WORLDS}`], { execArgv: ['--single-threaded-gc'] });
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the worlds with defects ended with code ${code}`);
  });
  ended.catch(() => {});
  return { child, ended };
}

async function findingOf(number: number): Promise<Finding> {
  mutants ??= startMutants();
  const answered = once(mutants.child, 'message') as Promise<[Answered]>;
  mutants.child.send(number);
  const [{ number: found, finding }] = await Promise.race([answered, mutants.ended]);
  expect(found).toBe(number);
  return finding;
}

function describeFinding(finding: Finding): string {
  return finding === null
    ? `not found in ${WORLDS} worlds`
    : `seed ${finding.seed}, world ${finding.worlds} of the search, fails (${finding.kind})`;
}
