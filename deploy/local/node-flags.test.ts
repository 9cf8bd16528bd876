import { expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { AGENT_FLAGS, COORDINATOR_FLAGS } from './node-flags.ts';

test('the scripts for production give the flags that npm start gives', () => {
  expect(manifest.scripts.coordinator).toBe(
    `node ${COORDINATOR_FLAGS.join(' ')} packages/coordinator/src/main.ts`,
  );
  expect(manifest.scripts.agent).toBe(`node ${AGENT_FLAGS.join(' ')} packages/agent/src/main.ts`);
});
