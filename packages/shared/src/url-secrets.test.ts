import { expect, test } from 'vitest';
import { urlSecrets } from './url-secrets.ts';

test.each([
  ['https://a.example/x', 'https://a.example/x', 'https://a.example/x'],
  ['https://a.example/x?key=1#y', 'https://a.example/x?****#y', 'https://a.example/x#y'],
  ['https://a.example?key=1?2', 'https://a.example?****', 'https://a.example'],
  ['https://a:b@c.example/?d', 'https://****@c.example/?****', 'https://c.example/'],
  ['https://a.example/?', 'https://a.example/?', 'https://a.example/?'],
  ['https://a.example/#?a', 'https://a.example/#?a', 'https://a.example/#?a'],
])('%s is shown as %s', (url, shown, left) => {
  expect(urlSecrets.replaced(url, '****')).toBe(shown);
  expect(urlSecrets.left(url)).toBe(left);
  expect(urlSecrets.isIn(url)).toBe(shown !== url);
  expect(urlSecrets.replaced(shown, '****')).toBe(shown);
});

test.each([
  ['https://a.example/?****', true],
  ['https://****@a.example/?new=1', true],
  ['https://a:b@a.example/?****', true],
  ['https://a:b@a.example/?c', false],
  ['https://a.example/****', false],
])('whether somebody sends a mask back in %s: %s', (url, expected) => {
  expect(urlSecrets.isMasked?.(url, '****')).toBe(expected);
});
