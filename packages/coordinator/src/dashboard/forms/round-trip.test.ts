import { DEFINITIONS, RESOURCE_KINDS } from '@svc/shared/resources/registry.ts';
import { MASK } from '@svc/shared/secret.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { arbitraryResource } from '../../../../../test/support/dashboard/arbitrary-resource.ts';
import { withoutEmptyRows, withRow, withSecrets } from './editing.ts';
import type { Entries } from './entries.ts';
import { formOf } from './fields.ts';
import { placeOf } from './messages.ts';
import { entriesOf, newEntries } from './to-entries.ts';
import { resourceFrom } from './to-resource.ts';

type Json = Record<string, unknown>;

const anyText = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: fc.constantFrom('a', '\r', '\n', '\u0000', ' ', '"', '<', '&') }),
  fc.constantFrom('', 'https://u:p@h.example/?k=v', '\r\nline', 'a\nb', '0:Key'),
);
/** Texts that a browser sends back unchanged. */
const plainText = fc.string({ unit: fc.constantFrom(...'abcXYZ019-_ä€😀'), minLength: 1, maxLength: 12 });

describe.each(RESOURCE_KINDS)('the form of %s', (kind) => {
  const definition = DEFINITIONS[kind];
  const form = formOf(definition);
  const { constants } = form;
  const stored = arbitraryResource(definition, anyText, form.chooser);

  test.each(['kept', 'shown'] as const)('keeps an unedited resource unchanged: secrets %s', (secrets) => {
    fc.assert(
      fc.property(stored, (resource) => {
        const body = resourceFrom(form, entriesOf(form, resource, secrets), resource);
        expect(body).toEqual({ ...constants, ...resource });
      }),
    );
  });

  test('makes the filled-in resource again', () => {
    fc.assert(
      fc.property(arbitraryResource(definition, plainText, form.chooser), (resource) => {
        const body = resourceFrom(form, entriesOf(form, resource, 'shown'), null);
        expect(withoutEmpty(body)).toEqual(withoutEmpty({ ...constants, ...resource }));
      }),
    );
  });

  test('contains no stored secret', () => {
    const secretText = plainText.map((text) => `s3cret${text}`);
    fc.assert(
      fc.property(arbitraryResource(definition, secretText, form.chooser), (resource) => {
        const filled = entriesOf(form, resource, 'kept');
        const told = secretsOf(form, resource).filter(({ path, value }) => {
          const shown = filled.get(path)?.[0] ?? '';
          return value !== '' && shown !== '' && !shown.includes(MASK);
        });
        expect(told).toEqual([]);
      }),
    );
  });

  test('shows the stored secrets of a draft on demand, and changes nothing else', () => {
    fc.assert(
      fc.property(arbitraryResource(definition, plainText, form.chooser), (resource) => {
        const shown = withSecrets(form, entriesOf(form, resource, 'kept'), resource);
        expect(shown).toEqual(entriesOf(form, resource, 'shown'));
      }),
    );
  });

  test('has a place for the message about each value', () => {
    fc.assert(
      fc.property(arbitraryResource(definition, plainText, form.chooser), (resource) => {
        const entries = entriesOf(form, resource, 'shown');
        const body = resourceFrom(form, entries, null);
        const lost: string[] = [];
        for (const steps of pathsIn(body)) {
          if (Object.hasOwn(constants, steps[0] ?? '')) continue;
          const pointer = steps
            .map((step) => `/${step.replaceAll('~', '~0').replaceAll('/', '~1')}`)
            .join('');
          const place = placeOf(form, entries, body, pointer);
          if (place === null || !isIn(form, entries, place.path)) lost.push(`${pointer} at ${place?.path}`);
        }
        expect(lost).toEqual([]);
      }),
    );
  });

  test('leaves out only empty rows', () => {
    fc.assert(
      fc.property(arbitraryResource(definition, plainText, form.chooser), (resource) => {
        const full = entriesOf(form, resource, 'kept');
        const lists = form.fields.filter(({ control }) => control.type === 'rows');
        const added = lists.reduce<Entries>((entries, { name }) => withRow(form, entries, name), full);
        expect(withoutEmptyRows(form, added)).toEqual(full);
      }),
    );
  });

  test('begins with the defaults of the definition', () => {
    const body = resourceFrom(form, newEntries(form), null);
    for (const { name, fallback, control } of form.fields) {
      if (control.type !== 'group' && fallback !== null && fallback !== '')
        expect(body[name], name).toEqual(fallback);
    }
  });
});

/** Removes empty lists, maps and texts, which mean the same as omitted ones. */
function withoutEmpty(value: Json): Json {
  const isEmpty = (member: unknown): boolean =>
    member === null ||
    member === '' ||
    (typeof member === 'object' && Object.values(member as object).length === 0);
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => {
      const inner = isPlain(member) ? withoutEmpty(member) : member;
      return isEmpty(inner) ? [] : [[name, inner]];
    }),
  );
}

const isPlain = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Every path in a value, including paths of lists and maps. */
function pathsIn(value: unknown, above: readonly string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [[...above]];
  const below = Object.entries(value).flatMap(([name, member]) => pathsIn(member, [...above, name]));
  return above.length === 0 ? below : [[...above], ...below];
}

/** Whether the form has an input, a row or a field at a path. */
function isIn(form: ReturnType<typeof formOf>, entries: Entries, path: string): boolean {
  return (
    form.fields.some(({ name }) => name === path) ||
    [...entries.keys()].some((name) => name === path || name.startsWith(`${path}.`)) ||
    form.fields.some(
      ({ name, control }) =>
        control.type === 'group' && control.fields.some((field) => `${name}.${field.name}` === path),
    )
  );
}

/** The secret texts of a resource with the paths of their inputs. */
function secretsOf(form: ReturnType<typeof formOf>, resource: Json): { path: string; value: string }[] {
  const found: { path: string; value: string }[] = [];
  const walk = (fields: ReturnType<typeof formOf>['fields'], above: string, object: Json): void => {
    for (const { name, secret, control } of fields) {
      const value = object[name] ?? null;
      const path = `${above}${name}`;
      if (secret === 'whole' && typeof value === 'string') found.push({ path, value });
      if (value === null) continue;
      if (control.type === 'group') walk(control.fields, `${path}.`, value as Json);
      if (control.type !== 'rows') continue;
      const rows = control.isMap
        ? Object.entries(value as Json).map(([key, member]) => ({ key, value: member }))
        : (value as Json[]);
      for (const [index, row] of rows.entries()) walk(control.fields, `${path}.${index}.`, row);
    }
  };
  walk(form.fields, '', resource);
  return found;
}
