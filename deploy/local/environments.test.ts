import { expect, test } from 'vitest';
import { environmentOf, type PartKind } from './environments.ts';

const environment = {
  PATH: '/bin',
  HTTPS_PROXY: 'http://proxy.example:3128',
  NODE_EXTRA_CA_CERTS: '/ca.pem',
  SVC_API_TOKEN: 'token',
  SVC_SECRET_KEY_FILE: '/key',
  SVC_SMTP_URL: 'smtp://a:b@c',
  SVC_CONCURRENCY: '10',
  SVC_LOG_LEVEL: 'debug',
  SVC_MISSPELT: 'x',
  HOOK: 'https://hook.example/secret',
  UNSET: undefined,
};

test.each<[PartKind, string[]]>([
  ['server', ['PATH', 'HTTPS_PROXY', 'NODE_EXTRA_CA_CERTS']],
  ['agent', ['PATH', 'HTTPS_PROXY', 'NODE_EXTRA_CA_CERTS', 'SVC_CONCURRENCY', 'SVC_LOG_LEVEL']],
  [
    'coordinator',
    [
      'PATH',
      'HTTPS_PROXY',
      'NODE_EXTRA_CA_CERTS',
      'SVC_API_TOKEN',
      'SVC_SECRET_KEY_FILE',
      'SVC_SMTP_URL',
      'SVC_LOG_LEVEL',
      'SVC_MISSPELT',
      'HOOK',
    ],
  ],
])('%s is given %j', (kind, names) => {
  expect(Object.keys(environmentOf(kind, environment))).toEqual(names);
});
