import { expect, test } from 'vitest';
import { parseSmtpRelay } from './relay.ts';

const NOBODY = null;
const OPS = { user: 'ops', password: 'p@ss/word' };

test.each([
  ['smtps://mail.example.com', 'mail.example.com', 465, 'implicit', NOBODY],
  ['smtps://ops:p%40ss%2Fword@mail.example.com:2465', 'mail.example.com', 2_465, 'implicit', OPS],
  ['smtp://mail.example.com/', 'mail.example.com', 587, 'starttls', NOBODY],
  ['smtp://ops:p%40ss%2Fword@mail.example.com', 'mail.example.com', 587, 'starttls', OPS],
  ['smtp://ops:p@ss%2Fword@mail.example.com', 'mail.example.com', 587, 'starttls', OPS],
  ['smtp://mail.example.com:25?starttls=never', 'mail.example.com', 25, 'none', NOBODY],
  ['smtp://127.0.0.1:25', '127.0.0.1', 25, 'none', NOBODY],
  ['smtp://ops:p%40ss%2Fword@127.0.0.1:25', '127.0.0.1', 25, 'offered', OPS],
  ['smtp://ops:p%40ss%2Fword@localhost:25?starttls=never', 'localhost', 25, 'none', OPS],
  ['smtp://ops:p%40ss%2Fword@localhost:25?starttls=required', 'localhost', 25, 'starttls', OPS],
  ['smtp://localhost:25?starttls=required', 'localhost', 25, 'starttls', NOBODY],
  ['smtp://[::1]:25', '::1', 25, 'none', NOBODY],
  ['SMTP://[2001:db8::1]', '2001:db8::1', 587, 'starttls', NOBODY],
])('%s', (text, host, port, tls, credentials) => {
  expect(parseSmtpRelay(text)).toEqual({ host, port, tls, credentials });
});

test.each([
  '',
  'mail.example.com:587',
  'smtp:mail.example.com',
  'http://ops:s3cret@mail.example.com',
  'smtp://',
  'smtp://ops:s3cret@',
  'smtp://ops:s3/cret@mail.example.com',
  'smtp://ops:s3#cret@mail.example.com',
  'smtp://ops@mail.example.com',
  'smtp://:s3cret@mail.example.com',
  'smtp://ops:s3cret@mail.example.com:0',
  'smtp://ops:s3cret@mail.example.com:99999',
  'smtp://ops:s3cret@mail.example.com?starttls=maybe',
  'smtp://ops:s3cret@mail.example.com?tls=1',
  'smtps://ops:s3cret@mail.example.com?starttls=never',
])('%j is refused, and is not repeated', (text) => {
  const parsed = () => parseSmtpRelay(text);
  expect(parsed).toThrow(TypeError);
  expect(parsed).toThrow(/^(?!.*s3)/);
});
