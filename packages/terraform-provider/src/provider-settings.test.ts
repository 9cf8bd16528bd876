import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ProviderSettings, type ReadSettings, readSettings } from './provider-settings.ts';
import { svcProvider } from './svc-provider.ts';
import { type TerraformObject, UNKNOWN } from './value.ts';

const SECRET = 'token-of-the-tests';
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-settings-'));
  writeFileSync(join(folder, 'token'), `${SECRET}\n`);
  writeFileSync(join(folder, 'empty'), '');
});
afterAll(() => rmSync(folder, { recursive: true }));

function known(read: ReadSettings): ProviderSettings {
  if (read.kind !== 'known') throw new TypeError(`settings are ${read.kind}`);
  return read.settings;
}

const nothing: TerraformObject = { api_token: null, base_url: null };

describe('what is known', () => {
  test.each([
    [
      'arguments win over the environment',
      { api_token: SECRET, base_url: 'https://svc.example.com/' },
      { SVC_API_TOKEN: 'other', SVC_BASE_URL: 'https://other.example.com' },
      { token: 'the argument api_token of the provider block', baseUrl: 'https://svc.example.com/' },
    ],
    [
      'the environment fills what is left out',
      nothing,
      { SVC_API_TOKEN: SECRET, SVC_BASE_URL: 'https://env.example.com' },
      { token: 'the environment variable SVC_API_TOKEN', baseUrl: 'https://env.example.com' },
    ],
    [
      'the address has a default',
      { ...nothing, api_token: SECRET },
      {},
      { token: 'the argument api_token of the provider block', baseUrl: 'http://127.0.0.1:8080' },
    ],
    [
      'an empty variable counts as unset',
      { ...nothing, api_token: SECRET },
      { SVC_BASE_URL: '', SVC_API_TOKEN: '' },
      { token: 'the argument api_token of the provider block', baseUrl: 'http://127.0.0.1:8080' },
    ],
  ])('%s', (_case, config, environment, expected) => {
    const { token, baseUrl } = known(readSettings(config, environment));
    expect([token.value.reveal(), token.source]).toEqual([SECRET, expected.token]);
    expect(baseUrl.value).toBe(expected.baseUrl);
  });

  test('the token may stand in a file', () => {
    const { token } = known(readSettings(nothing, { SVC_API_TOKEN_FILE: join(folder, 'token') }));
    expect([token.value.reveal(), token.source]).toEqual([SECRET, 'the file that SVC_API_TOKEN_FILE names']);
  });
});

describe('what is wrong', () => {
  test.each([
    ['no token', nothing, {}, 'api_token', /api_token.*provider block.*SVC_API_TOKEN/],
    ['an empty token', { ...nothing, api_token: '' }, {}, 'api_token', /argument api_token.* is empty/],
    [
      'an empty token does not fall back',
      { ...nothing, api_token: '' },
      { SVC_API_TOKEN: 'x' },
      'api_token',
      /empty/,
    ],
    ['a token with a line end', { ...nothing, api_token: `${SECRET}\n` }, {}, 'api_token', /a line break/],
    [
      'a bad token of the environment',
      nothing,
      { SVC_API_TOKEN: `${SECRET} x` },
      'api_token',
      /^The environment variable SVC_API_TOKEN contains a blank/,
    ],
    ['token and file', nothing, { SVC_API_TOKEN: SECRET, SVC_API_TOKEN_FILE: '/x' }, 'api_token', /not both/],
    ['a file that is not there', nothing, { SVC_API_TOKEN_FILE: '/nowhere/x' }, 'api_token', /ENOENT/],
    [
      'an address without a scheme',
      { api_token: SECRET, base_url: 'localhost:8080' },
      {},
      'base_url',
      /argument base_url.* must be a URL/,
    ],
    [
      'an address with a query',
      { api_token: SECRET, base_url: null },
      { SVC_BASE_URL: 'https://a.example.com/?x' },
      'base_url',
      /^The environment variable SVC_BASE_URL must not have a query/,
    ],
    ['a bad address beside an unknown token', { api_token: UNKNOWN, base_url: '' }, {}, 'base_url', /URL/],
  ] as [string, TerraformObject, NodeJS.ProcessEnv, string, RegExp][])(
    '%s',
    (_case, config, environment, argument, message) => {
      const provider = svcProvider({ environment, version: '1' });
      for (const diagnostics of [provider.validate(config), provider.configure(config, '1.11.4')]) {
        expect(diagnostics).toEqual([
          {
            severity: 'error',
            summary: expect.stringMatching(new RegExp(`^(Invalid|Missing) ${argument}$`)),
            detail: expect.stringMatching(message),
            path: [argument],
          },
        ]);
        expect(JSON.stringify(diagnostics)).not.toContain(SECRET);
      }
    },
  );

  test('all problems are reported at once', () => {
    const diagnostics = svcProvider({ environment: {}, version: '1' }).validate({
      api_token: null,
      base_url: 'x',
    });
    expect(diagnostics).toHaveLength(2);
  });
});

describe('what is not known yet', () => {
  test.each([
    ['api_token', { api_token: UNKNOWN, base_url: null }, /api_token of the provider block is only known/],
    ['base_url', { api_token: SECRET, base_url: UNKNOWN }, /base_url of the provider block is only known/],
    [
      'both',
      { api_token: UNKNOWN, base_url: UNKNOWN },
      /api_token and base_url of the provider block are only known/,
    ],
  ] as [string, TerraformObject, RegExp][])(
    '%s: a plan goes on, a read says which argument',
    async (_case, config, message) => {
      // The variable must not replace the argument whose value is not known yet.
      const environment = { SVC_API_TOKEN: 'other', SVC_BASE_URL: 'http://127.0.0.1:1' };
      const provider = svcProvider({ environment, version: '1' });
      expect(provider.validate(config)).toEqual([]);
      expect(provider.configure(config, '1.11.4')).toEqual([]);

      const pages = provider.resources.svc_status_page!;
      const page = {
        ...Object.fromEntries(Object.keys(pages.schema.attributes).map((name) => [name, null])),
      };
      const wanted = { ...page, title: 'a', slug: 'a' };
      expect(pages.plan({ prior: null, proposed: wanted, config: wanted }).planned).toMatchObject({
        title: 'a',
        id: UNKNOWN,
      });
      const state = { ...page, id: '5' };
      const read = await pages.read(state);
      expect(read.state).toEqual(state);
      expect(read.diagnostics).toMatchObject([{ severity: 'error', detail: expect.stringMatching(message) }]);
      const data = await provider.dataSources.svc_status_page!.read(state);
      expect(data.diagnostics).toMatchObject([{ detail: expect.stringMatching(message) }]);
    },
  );

  test('before the configuration, no request is made either', async () => {
    const provider = svcProvider({ environment: {}, version: '1' });
    const { diagnostics } = await provider.dataSources.svc_monitors!.read({ limit: null, offset: null });
    expect(diagnostics).toMatchObject([{ detail: expect.stringContaining('not configured yet') }]);
  });
});

test.each([
  ['http://svc.example.com', ['warning']],
  ['https://svc.example.com', []],
  ['http://127.0.0.1:8080', []],
])('for %s the provider says %j', (base_url, severities) => {
  const provider = svcProvider({ environment: {}, version: '0.0.0' });
  const said = provider.configure({ api_token: SECRET, base_url }, '1.9.0');
  expect(said.map(({ severity }) => severity)).toEqual(severities);
  expect(JSON.stringify(said)).not.toContain(SECRET);
});
