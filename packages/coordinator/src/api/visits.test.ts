import { expect, test } from 'vitest';
import { visitOf } from './visits.ts';

test.each<[header: string | null, host: string, isOwnHost: boolean]>([
  ['svc.example.com', 'svc.example.com', true],
  ['SVC.Example.com:8443', 'svc.example.com', true],
  ['svc.example.com.', 'svc.example.com', true],
  ['localhost.:8080', 'localhost', true],
  ['192.0.2.7', '192.0.2.7', true],
  ['[2001:db8::1]:8080', '[2001:db8::1]', true],
  ['status.example.org.:8080', 'status.example.org', false],
  ['svc.example.com.evil.example', 'svc.example.com.evil.example', false],
  ['evil.example#svc.example.com', 'evil.example', false],
  ['a b', '', false],
  [null, '', false],
])('the host of %j is %j; is it our own: %j', (header, host, isOwnHost) => {
  const request = new Request('http://svc.invalid/', { headers: header === null ? {} : { host: header } });
  const circumstances = { publicUrl: 'https://svc.example.com', hasTls: false, peer: null, requestId: 'a' };
  expect(visitOf(request, circumstances)).toMatchObject({ host, isOwnHost });
});
