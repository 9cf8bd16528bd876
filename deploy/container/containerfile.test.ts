/**
 * Compares the Containerfile with the code whose processes it starts. `test/e2e/deployed/` starts the described
 * images.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { KNOWN_VARIABLES } from '@svc/shared/settings/setting-names.ts';
import { validate } from 'dockerfile-utils';
import { describe, expect, test } from 'vitest';
import { stagesOf } from '../../test/support/deployed/image.ts';
import {
  AGENT_ENVIRONMENT,
  AGENT_FLAGS,
  COORDINATOR_ENVIRONMENT,
  COORDINATOR_FLAGS,
} from '../local/node-flags.ts';

const ROOT = join(import.meta.dirname, '../..');
const containerfile = readFileSync(join(import.meta.dirname, 'Containerfile'), 'utf8');
const stages = new Map(stagesOf(containerfile).map((stage) => [stage.name, stage]));

function of(stage: string, instruction: string): string[] {
  return (stages.get(stage)?.instructions ?? [])
    .filter(({ name }) => name === instruction)
    .map(({ rest }) => rest);
}

test('a linter of container files finds nothing', () => {
  expect(validate(containerfile)).toEqual([]);
});

test('the base image has the Node that the repository depends on', () => {
  const { devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  expect(containerfile).toContain(`ARG NODE_IMAGE=docker.io/library/node:${devDependencies.node}-bookworm\n`);
});

describe.each([
  ['agent', AGENT_FLAGS],
  ['coordinator', COORDINATOR_FLAGS],
] as const)('the image of the %s', (name, flags) => {
  test('has nothing but what is copied', () => {
    expect(stages.get(name)?.from).toBe('scratch');
    expect(of(name, 'RUN')).toEqual([]);
  });

  test('starts its process with the measured flags, as a user without rights', () => {
    expect(JSON.parse(of(name, 'ENTRYPOINT')[0] ?? '')).toEqual([
      '/usr/local/bin/node',
      ...flags,
      `/svc/${name}.mjs`,
    ]);
    expect(of(name, 'USER')).toEqual(['65532:65532']);
  });

  test('sets variables that there are', () => {
    const variables = of(name, 'ENV').flatMap((line) =>
      line.split(' ').map((pair) => pair.split('=')[0] ?? ''),
    );
    for (const variable of variables) {
      expect(
        variable in COORDINATOR_ENVIRONMENT || variable in AGENT_ENVIRONMENT || KNOWN_VARIABLES.has(variable),
        variable,
      ).toBe(true);
    }
  });

  test('copies files that the build context has', () => {
    const ignored = readFileSync(join(import.meta.dirname, 'Containerfile.dockerignore'), 'utf8').split('\n');
    const files = of(name, 'COPY')
      .filter((line) => !line.startsWith('--from'))
      .flatMap((line) => line.split(' ').slice(0, -1));
    expect(files).toContain(`dist/${name}.mjs`);
    for (const file of files) expect(ignored).toContain(`!${file}`);
  });
});
