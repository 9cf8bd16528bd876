import { readFileSync } from 'node:fs';
import type { Attributes, ResourceDefinition, Value } from '@svc/shared/resources/definition.ts';
import { DEFINITIONS } from '@svc/shared/resources/registry.ts';
import { describe, expect, test } from 'vitest';

/*
 * The guide names every bound that the format of the declaration does not state. A bound
 * that a definition gets, and that is neither in this table nor in the guide, fails.
 */

/** The bounds that the format states, by the place of the attribute. */
const STATED: Readonly<Record<string, readonly string[]>> = {
  'svc_http_monitor.name': ['256 characters'],
  'svc_tcp_monitor.name': ['256 characters'],
  'svc_dns_monitor.name': ['256 characters'],
  'svc_http_monitor.description': ['1,024 characters'],
  'svc_tcp_monitor.description': ['1,024 characters'],
  'svc_dns_monitor.description': ['1,024 characters'],
  'svc_http_monitor.url': ['2,048 characters'],
  'svc_tcp_monitor.uri': ['2,048 characters'],
  'svc_dns_monitor.uri': ['2,048 characters'],
  'svc_status_page.title': ['256 characters', 'not empty'],
  'svc_status_page.slug': ['256 characters', 'not empty'],
  'svc_status_page.description': ['1,024 characters'],
  'svc_status_page_component.name': ['256 characters'],
  'svc_status_page_component.description': ['1,024 characters'],
  'svc_status_page_component_group.name': ['256 characters', 'not empty'],
};
/** Attributes of all monitors whose range is stated, and attributes that are ours alone. */
const RANGES = /\.(?:timeout|retry|certificate_expiry_days)$|status_code_assertions\.target$/;

const guide = readFileSync(
  new URL('../packages/terraform-provider/guides/limits.md', import.meta.url),
  'utf8',
);
/** The rows of the table: the attributes of each, and its rule. */
const rows = guide
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => line.split(/(?<!\\)\|/).slice(1, 3))
  .map(([named = '', rule = '']) => ({
    names: [...named.matchAll(/`([a-z_]+)/g)].map(([, name]) => name),
    rule,
  }));

const bounds = Object.values(DEFINITIONS).flatMap((definition: ResourceDefinition) => [
  ...boundsIn(definition.attributes, definition.kind),
  ...Object.entries(definition.blocks).flatMap(([name, block]) =>
    boundsIn(block.attributes, `${definition.kind}.${name}`),
  ),
]);

function boundsIn(attributes: Attributes, above: string): [place: string, bound: string][] {
  return Object.entries(attributes).flatMap(([name, { value, presence }]): [string, string][] => {
    if (presence === 'computed') return [];
    const place = `${above}.${name}`;
    const own = factsOf(value).map((fact): [string, string] => [place, fact]);
    return [...own, ...(value.attributes === undefined ? [] : boundsIn(value.attributes, place))];
  });
}

/** The bounds of a value, as the guide has to say them; '' is a form in words of its own. */
function factsOf({
  minimumLength = 0,
  maximumLength,
  minimum,
  maximum,
  maximumItems,
  form,
}: Value): string[] {
  const shown = (figure: number) => figure.toLocaleString('en');
  return [
    ...(minimumLength > 0 ? ['not empty'] : []),
    ...(maximumLength === undefined ? [] : [`${shown(maximumLength)} characters`]),
    ...(minimum === undefined ? [] : [shown(minimum)]),
    ...(maximum === undefined ? [] : [shown(maximum)]),
    ...(maximumItems === undefined ? [] : [shown(maximumItems)]),
    ...(form === undefined ? [] : [form.startsWith('at most') ? form : '']),
  ];
}

describe('the guide about limits', () => {
  test.each(bounds.filter(([place, bound]) => !isStated(place, bound)))('%s: %s', (place, bound) => {
    const name = place.split('.').at(-1) ?? '';
    const of = rows.filter(({ names }) => names.includes(name));
    expect(
      of.some(({ rule }) => rule.includes(bound)),
      `the table of packages/terraform-provider/guides/limits.md needs \`${name}\` in a row that says: ${bound || 'its form'}`,
    ).toBe(true);
  });

  test('is about attributes that exist', () => {
    const known = Object.values(DEFINITIONS).flatMap(({ attributes, blocks }: ResourceDefinition) => [
      ...namesIn(attributes),
      ...Object.entries(blocks).flatMap(([name, block]) => [name, ...namesIn(block.attributes)]),
    ]);
    for (const name of rows.flatMap(({ names }) => names)) expect(known).toContain(name);
  });
});

function namesIn(attributes: Attributes): string[] {
  return Object.entries(attributes).flatMap(([name, { value }]) => [
    name,
    ...namesIn(value.attributes ?? {}),
  ]);
}

function isStated(place: string, bound: string): boolean {
  return RANGES.test(place) || STATED[place]?.includes(bound) === true;
}
