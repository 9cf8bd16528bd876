import { globSync, readFileSync } from 'node:fs';
import { CHANNEL_KINDS } from '@svc/shared/channels/settings.ts';
import type { Attributes, ResourceDefinition } from '@svc/shared/resources/definition.ts';
import { DEFINITIONS } from '@svc/shared/resources/registry.ts';
import { expect, test } from 'vitest';
import { terraformPages } from '../docs/generate/terraform-pages.ts';

const FOLDER = new URL('../docs/terraform/', import.meta.url);

test('docs/terraform has the pages of all resources and data sources, and no others', () => {
  expect(globSync('**/*.md', { cwd: FOLDER }).sort()).toEqual([...terraformPages().keys()].sort());
});

test.each([...terraformPages()])(
  'docs/terraform/%s is what the schemas say (else: npm run docs)',
  (path, text) => {
    expect(readFileSync(new URL(path, FOLDER), 'utf8')).toBe(text);
  },
);

test('the example of every kind of channel has every kind', () => {
  const page = terraformPages().get('resources/notification.md') ?? '';
  const shown = [...page.matchAll(/provider_type = "(\w+)"/g)].map(([, kind]) => kind);
  const lacking = CHANNEL_KINDS.filter((kind) => !shown.includes(kind));
  expect(lacking, 'add them to examples/resources/svc_notification/every-kind.tf, then npm run docs').toEqual(
    [],
  );
});

/**
 * The rows of the guide's table, each with the names in its first column and whether a plan shows the value.
 */
const secretRows = readFileSync(
  new URL('../packages/terraform-provider/guides/secrets.md', import.meta.url),
  'utf8',
)
  .split('\n')
  .filter((line) => /^\| .*`/.test(line))
  .map((line) => line.split('|').slice(1, 4))
  .map(([named = '', , plan = '']) => ({
    names: [...named.matchAll(/`([a-z_]+)`/g)].map(([, name]) => name),
    isHidden: plan.includes('sensitive)'),
  }));

/** The secrets of a definition, by name, and whether Terraform hides them. */
function secretsIn(attributes: Attributes): [name: string, isHidden: boolean][] {
  return Object.entries(attributes).flatMap(([name, { value, secret, sensitive, presence }]) => {
    const isOwn = presence !== 'computed' && (secret || value.secretPart !== undefined);
    const own: [string, boolean][] = isOwn ? [[name, sensitive]] : [];
    return [...own, ...secretsIn(value.attributes ?? {})];
  });
}

test('the guide about secrets has every secret, and says whether a plan shows it', () => {
  const secrets = Object.values(DEFINITIONS).flatMap(({ attributes, blocks }: ResourceDefinition) => [
    ...secretsIn(attributes),
    ...Object.values(blocks).flatMap((block) => secretsIn(block.attributes)),
  ]);
  const lacking = secrets.filter(
    ([name, hidden]) =>
      !secretRows.some(({ names, isHidden }) => names.includes(name) && isHidden === hidden),
  );
  expect(lacking, 'add them to packages/terraform-provider/guides/secrets.md, then npm run docs').toEqual([]);
});
