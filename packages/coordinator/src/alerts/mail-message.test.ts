import { expect, test } from 'vitest';
import { parseMail } from '../../../../test/support/mime.ts';
import { composeMail } from './mail-message.ts';

const ENVELOPE = { to: 'ada@example.com', deliveryId: 'd1', sentAt: 0 };

async function mailOf(text: string): Promise<string> {
  const from = { name: text, address: 'svc@example.com' };
  const body = { subject: text, text: 'a', html: 'a', thread: null };
  return (await composeMail({ ...ENVELOPE, from }, body)).toString();
}

test.each([
  '=?utf-8?Q?All_is_well?=',
  '=?utf-8?Q?a=0D=0ABcc:_eve@example.com?=',
  '=?UTF-8?B?4oCuaGVsbG8=?=',
  'API =?us-ascii?Q?b?= down',
  'Straße =?utf-8?Q?b?=',
])('no program decodes the name %s', async (text) => {
  const mail = await mailOf(text);
  const { headers } = parseMail(mail);
  expect(headers.get('subject')?.replaceAll('\u2060', '')).toBe(text);
  expect(headers.get('from')?.replaceAll('\u2060', '').replaceAll('"', '')).toBe(`${text} <svc@example.com>`);
  expect(mail).not.toContain(text.slice(text.indexOf('=?'), text.lastIndexOf('?=')));
});

test.each(['API', 'x" <eve@example.com>, "y', 'a, b@example.com', 'Straße', '(a) [b]; c: d\\'])(
  'the name %j stays the name of one sender',
  async (text) => {
    const { headers } = parseMail(await mailOf(text));
    expect(headers.get('subject')).toBe(text);
    expect(headers.get('from')).toMatch(/ <svc@example\.com>$/);
    expect(
      headers
        .get('from')
        ?.replaceAll(/"(?:[^"\\]|\\.)*"/g, '')
        .match(/</g),
    ).toHaveLength(1);
  },
);
