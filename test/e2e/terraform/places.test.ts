import { expect, test } from 'vitest';
import { JsonPlaces } from '../../support/terraform/json-places.ts';

test('finds the innermost value around a byte; a key belongs to its member', () => {
  const text = '{ "ü": {"a": [1, {"b": "x\\"y"}], "c": true} , "d": {}}';
  const places = new JsonPlaces(text);
  const at = (needle: string) => places.pathAt(Buffer.byteLength(text.slice(0, text.indexOf(needle))));
  expect(at('1')).toEqual(['ü', 'a', 0]);
  expect(at('"b"')).toEqual(['ü', 'a', 1, 'b']);
  expect(at('y"}')).toEqual(['ü', 'a', 1, 'b']);
  expect(at('true')).toEqual(['ü', 'c']);
  expect(at('"d"')).toEqual(['d']);
  expect(places.pathAt(0)).toEqual([]);
});
