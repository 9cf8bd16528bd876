import { expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { AGENT_ENVIRONMENT, AGENT_FLAGS, COORDINATOR_ENVIRONMENT, COORDINATOR_FLAGS } from './node-flags.ts';

/** Only the scripts of the checkout cache what Node compiles: only the owner of the checkout writes there. */
const CACHE = `NODE_COMPILE_CACHE=\${NODE_COMPILE_CACHE:-node_modules/.cache/node} `;
const withoutCache = (script: string): string => script.replace(CACHE, '');
/** The variables in the shell's notation, by which a variable that the operator has set keeps its value. */
const variables = (environment: Readonly<Record<string, string>>): string =>
  Object.entries(environment)
    .map(([name, value]) => `${name}=\${${name}:-${value}} `)
    .join('');

test('the scripts for production give the flags and variables that npm start gives', () => {
  expect(withoutCache(manifest.scripts.coordinator)).toBe(
    `${variables(COORDINATOR_ENVIRONMENT)}node ${COORDINATOR_FLAGS.join(' ')} packages/coordinator/src/main.ts`,
  );
  expect(withoutCache(manifest.scripts.agent)).toBe(
    `${variables(AGENT_ENVIRONMENT)}node ${AGENT_FLAGS.join(' ')} packages/agent/src/main.ts`,
  );
});

test.each(['start', 'coordinator', 'agent', 'svc', 'bench'] as const)(
  'npm run %s caches what it compiles',
  (name) => {
    expect(manifest.scripts[name].startsWith(CACHE)).toBe(true);
  },
);
