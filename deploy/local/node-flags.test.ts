import { expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { AGENT_FLAGS, COORDINATOR_FLAGS } from './node-flags.ts';

/** Only the checkout caches what it compiles. */
const withoutCache = (script: string): string => script.replace(/^NODE_COMPILE_CACHE=\S+ /, '');

test('the scripts for production give the flags that npm start gives', () => {
  expect(withoutCache(manifest.scripts.coordinator)).toBe(
    `node ${COORDINATOR_FLAGS.join(' ')} packages/coordinator/src/main.ts`,
  );
  expect(withoutCache(manifest.scripts.agent)).toBe(
    `node ${AGENT_FLAGS.join(' ')} packages/agent/src/main.ts`,
  );
});
