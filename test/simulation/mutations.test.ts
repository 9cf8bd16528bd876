import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { MemoryStore } from './memory-store.ts';
import type { Finding } from './mutations/mutant.ts';
import { MUTATIONS, sourceOf } from './mutations/mutations.ts';
import { simulate } from './simulation.ts';
import { QUIET } from './world.ts';

/** A defect is found within so many worlds. */
const WORLDS = 1_000;
/** The quick check simulates fewer worlds than `npm test`, and leaves the defects out. */
const isQuick = process.env.SIMULATED_WORLDS !== undefined;

const MUTANT = fileURLToPath(new URL('./mutations/mutant.ts', import.meta.url));

describe('a defect that is made on purpose', () => {
  test.each(MUTATIONS)('$name: its place is there, once', (mutation) => {
    expect(readFileSync(sourceOf(mutation), 'utf8').split(mutation.from)).toHaveLength(2);
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

async function findingOf(number: number): Promise<Finding> {
  const child = fork(MUTANT, [number, 1, WORLDS].map(String), { execArgv: [] });
  const said = once(child, 'message');
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`the worlds with defect ${number} ended with code ${code}`);
  const [finding] = await said;
  return finding as Finding;
}

function describeFinding(finding: Finding): string {
  return finding === null
    ? `not found in ${WORLDS} worlds`
    : `world ${finding.worlds} fails (${finding.kind})`;
}
