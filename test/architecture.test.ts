import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

type Import = { file: string; line: number; text: string; target: string };

/** Every import of every source file, relative ones as paths from the root. */
function imports(pattern: string, options: { withTests: boolean }): Import[] {
  return globSync(pattern, { cwd: ROOT })
    .filter((file) => options.withTests || !file.endsWith('.test.ts'))
    .flatMap((file) =>
      readFileSync(join(ROOT, file), 'utf8')
        .split('\n')
        .flatMap((text, index): Import[] => {
          const target =
            /^(?:import|export|\} from).*?from '([^']+)'|^\} from '([^']+)'|^import '([^']+)'/.exec(text);
          const name = target?.[1] ?? target?.[2] ?? target?.[3];
          if (name === undefined) return [];
          const path = name.startsWith('.') ? normalize(join(dirname(file), name)) : name;
          return [{ file, line: index + 1, text, target: path }];
        }),
    );
}

const offenders = (found: Import[]) =>
  found.map(({ file, line, target }) => `${file}:${line} imports ${target}`);

const sources = { withTests: false };
const everything = { withTests: true };

describe('imports point the right way', () => {
  test('the walk finds the imports it judges', () => {
    expect(imports('packages/*/src/**/*.ts', everything).length).toBeGreaterThan(200);
  });

  test('agent and coordinator do not know each other', () => {
    const wrong = [
      ...imports('packages/agent/src/**/*.ts', sources).filter(({ target }) =>
        target.includes('coordinator'),
      ),
      ...imports('packages/coordinator/src/**/*.ts', sources).filter(({ target }) =>
        target.includes('@svc/agent'),
      ),
    ];
    expect(offenders(wrong)).toEqual([]);
  });

  test('shared knows neither', () => {
    const wrong = imports('packages/shared/src/**/*.ts', sources).filter(({ target }) =>
      /@svc\/(agent|coordinator)|packages\/(agent|coordinator)/.test(target),
    );
    expect(offenders(wrong)).toEqual([]);
  });

  test('what works over the HTTP API knows nothing of the server', () => {
    const wrong = imports('packages/{cli,terraform-provider}/src/**/*.ts', sources).filter(
      ({ target }) => target.startsWith('@svc/') && !target.startsWith('@svc/shared/'),
    );
    expect(offenders(wrong)).toEqual([]);
  });

  test('packages reach each other by workspace name', () => {
    const wrong = imports('packages/*/src/**/*.ts', sources).filter(
      ({ file, target }) =>
        !target.startsWith('@') &&
        target.startsWith('packages/') &&
        target.split('/')[1] !== relative('packages', file).split('/')[0],
    );
    expect(offenders(wrong)).toEqual([]);
  });

  test('only the bus knows the NATS client', () => {
    const wrong = imports('packages/*/src/**/*.ts', sources).filter(
      ({ file, target }) => target === 'nats' && !/shared\/src\/nats-(bus|result-stream)\.ts$/.test(file),
    );
    expect(offenders(wrong)).toEqual([]);
  });

  test('decisions are pure: domain and assertions import no I/O', () => {
    const allowed =
      /^(?:@svc\/shared\/|zod$|ipaddr\.js$|packages\/(?:coordinator\/src\/domain|shared\/src)\/|node:crypto$)/;
    const wrong = [
      ...imports('packages/coordinator/src/domain/**/*.ts', sources),
      ...imports('packages/shared/src/assertions/**/*.ts', sources),
    ].filter(
      ({ target, text }) =>
        // `isIP` is the one pure function of node:net.
        (!allowed.test(target) && text !== "import { isIP } from 'node:net';") ||
        /\/(log|bus|nats-|clock|settings)/.test(target),
    );
    expect(offenders(wrong)).toEqual([]);
  });

  test('what goes out is for alerts and exports alike: it knows neither, nor the database', () => {
    const own = /^(?:packages\/coordinator\/src\/outgoing\/|@svc\/shared\/|node:|undici$)/;
    const wrong = imports('packages/coordinator/src/outgoing/**/*.ts', sources).filter(
      ({ target }) => !own.test(target),
    );
    expect(offenders(wrong)).toEqual([]);
  });

  test('what Terraform plans is pure', () => {
    const allowed = /^(?:@svc\/shared\/(?:resources|reference|channels)\/|@svc\/shared\/nearest\.ts$|zod$)/;
    const own = /^packages\/terraform-provider\/src\/(?:planning\/|(?:value|schema|provider)\.ts$)/;
    const wrong = imports('packages/terraform-provider/src/planning/**/*.ts', sources).filter(
      ({ target }) => !allowed.test(target) && !own.test(target),
    );
    expect(offenders(wrong)).toEqual([]);
  });

  test('the plug-in protocol knows nothing of svc', () => {
    const own = /^packages\/terraform-provider\/src\/(?:plugin\/|(?:value|schema|provider|version)\.ts$)/;
    const wrong = imports('packages/terraform-provider/src/plugin/**/*.ts', sources).filter(
      ({ target }) =>
        (target.startsWith('packages/') && !own.test(target)) ||
        (target.startsWith('@svc/') && target !== '@svc/shared/errors.ts'),
    );
    expect(offenders(wrong)).toEqual([]);
  });

  test('tests mock no module of ours', () => {
    const mocking = globSync('{packages,test,deploy}/**/*.test.ts', { cwd: ROOT }).filter((file) =>
      /\bvi\s*\.\s*mock\(/.test(readFileSync(join(ROOT, file), 'utf8').replace(/\/\\b.*?\\\(\//, '')),
    );
    expect(mocking).toEqual([]);
  });
});
