import fc from 'fast-check';
import { anyText, anyUrl } from '../any-text.ts';
import { type Json, resolved } from './document.ts';

/** Optional members beyond this depth are left out. */
const DEPTH = 4;

/** Values that a schema of the document allows, in all of its forms. */
export function valuesOf(document: Json, schema: Json, depth = 0): fc.Arbitrary<unknown> {
  const { type, ...rest } = resolved(document, schema);
  if ('const' in rest) return fc.constant(rest.const);
  if (Array.isArray(rest.enum)) return fc.constantFrom(...(rest.enum as unknown[]));
  const choices = (rest.oneOf ?? rest.anyOf) as Json[] | undefined;
  if (choices !== undefined) return fc.oneof(...choices.map((choice) => valuesOf(document, choice, depth)));
  const types = ([type ?? 'null'] as unknown[]).flat() as string[];
  return fc.oneof(...types.map((one) => typedValue(document, { ...rest, type: one }, depth)));
}

function typedValue(document: Json, schema: Json, depth: number): fc.Arbitrary<unknown> {
  switch (schema.type) {
    case 'object':
      return objectOf(document, schema, depth);
    case 'array':
      return fc.array(valuesOf(document, (schema.items ?? {}) as Json, depth + 1), {
        maxLength: Math.min(Number(schema.maxItems ?? 3), 3),
      });
    case 'string':
      return textOf(schema);
    case 'number':
    case 'integer':
      return numberOf(schema);
    case 'boolean':
      return fc.boolean();
    default:
      return fc.constant(null);
  }
}

function objectOf(document: Json, schema: Json, depth: number): fc.Arbitrary<unknown> {
  const properties = (schema.properties ?? {}) as Record<string, Json>;
  const required = (schema.required ?? []) as string[];
  const kept = Object.entries(properties).filter(([name]) => depth < DEPTH || required.includes(name));
  const members = kept.map(([name, member]) => [name, valuesOf(document, member, depth + 1)] as const);
  return fc.record(Object.fromEntries(members), { requiredKeys: required });
}

function textOf({ pattern, minLength = 0, maxLength = 40 }: Json): fc.Arbitrary<string> {
  if (typeof pattern === 'string') return fc.stringMatching(new RegExp(pattern));
  const length = { minLength: Number(minLength), maxLength: Number(maxLength) };
  return fc.oneof(
    anyText(length),
    anyUrl().filter((url) => url.length <= length.maxLength && url.length >= length.minLength),
    fc.constantFrom('1', 'example.com', 'example.com:443', '+4915112345678', 'a@example.com'),
  );
}

function numberOf({ minimum, maximum, multipleOf, type }: Json): fc.Arbitrary<number> {
  const bounds = { min: Number(minimum ?? -1e9), max: Number(maximum ?? 1e9) };
  return type === 'integer' || multipleOf === 1
    ? fc.integer({ min: Math.max(bounds.min, -(2 ** 31)), max: Math.min(bounds.max, 2 ** 31 - 1) })
    : fc.double({ ...bounds, noNaN: true });
}
