import { expect, test } from 'vitest';
import { openedIn, targetIn } from '../support/opened.ts';
import { svc } from '../support/svc.ts';

test('a target is probed from here, phase by phase', async (context) => {
  const target = await targetIn(openedIn(context));
  const { code, out } = await svc(['check', target.url], {});
  expect(code).toBe(0);
  expect(out).toMatch(/passed\nstatus code +200\nlatency +[\d.]+ ms\n {2}connect /);
  const { port } = new URL(target.url);
  const { code: tcp, out: json } = await svc(['check', `tcp://127.0.0.1:${port}`, '--json'], {});
  expect({ tcp, ...JSON.parse(json) }).toMatchObject({ tcp: 0, outcome: 'passed', error_message: null });
});

test('a target that is down says why', async (context) => {
  const target = await targetIn(openedIn(context));
  target.answerWith((response) => {
    response.statusCode = 503;
    response.end();
  });
  const { code, out, err } = await svc(['check', target.url], {});
  expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('503') });
  expect(out).toContain('failed');
});

test.each([
  [[], 'the target is missing'],
  [['www.example.com'], 'write https://www.example.com'],
  [['ftp://a'], 'write https://www.example.com/, tcp'],
  [['tcp://127.0.0.1'], 'uri: '],
  [['http://127.0.0.1', '--timeout', 'soon'], '--timeout must be'],
])('check %j is refused', async (args, message) => {
  expect(await svc(['check', ...args], {})).toMatchObject({ code: 2, err: expect.stringContaining(message) });
});
