import { expect, test } from 'vitest';
import { nearest } from './nearest.ts';

const NAMES = ['periodicity', 'timeout', 'url', 'SVC_NATS_URL'];

test.each([
  ['periodicty', 'periodicity'],
  ['Timeout', 'timeout'],
  ['timoeut', 'timeout'],
  ['uri', 'url'],
  ['SVC_NATS_URI', 'SVC_NATS_URL'],
  ['port', null],
  ['', null],
])('%s was probably meant to be %s', (word, meant) => {
  expect(nearest(word, NAMES)).toBe(meant);
});
