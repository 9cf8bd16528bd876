/**
 * The files of hosts: the files in the repository equal the output of the templates, and each is a valid file
 * of its form.
 */
import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { REGIONS } from '@svc/shared/regions.ts';
import { KNOWN_VARIABLES } from '@svc/shared/settings/setting-names.ts';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { findProgram } from '../../test/support/real-dns-server.ts';
import { type AgentSettings, exampleSettings, variablesOf } from './agent-settings.ts';
import { FORMS, type Form, formOf, generatedFiles, hostOf } from './forms.ts';
import { givenSettings } from './given-settings.ts';

const run = promisify(execFile);
const DEPLOY = join(import.meta.dirname, '..');
const PEM = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';

test('the files of the repository are what the templates make (`npm run docs`)', () => {
  const made = generatedFiles();
  for (const [name, text] of made) expect(readFileSync(join(DEPLOY, name), 'utf8'), name).toBe(text);
  const there = globSync('{hosts/host?,kubernetes/agents}/host*.yaml', { cwd: DEPLOY });
  expect(there.sort()).toEqual([...made.keys()].sort());
});

test('every region has a file, and its host a page that names it', () => {
  for (const region of REGIONS) {
    const page = readFileSync(join(DEPLOY, `../docs/hosts/${hostOf(region)}.md`), 'utf8');
    const file = join(DEPLOY, 'hosts', hostOf(region), `${region}.yaml`);
    expect(page).toContain(`](${relative(join(DEPLOY, '../docs/hosts'), file)})`);
  }
});

describe.each(REGIONS)('the settings of %s', (region) => {
  test.each(Object.keys(FORMS) as Form[])('stand in the form %s', (form) => {
    const settings: AgentSettings = { ...exampleSettings(region), ca: PEM };
    const text = FORMS[form](settings);
    for (const document of parseAllDocuments(text)) expect(document.errors).toEqual([]);
    // A compose file has the authority's text in place of a path.
    for (const [name, value] of variablesOf(form === 'compose' ? { ...settings, ca: null } : settings)) {
      expect(KNOWN_VARIABLES).toContain(name);
      expect(text).toMatch(new RegExp(`${name}(=|: )"?${value.replaceAll(/[.?+*()[\]{}|^$]/g, '\\$&')}"?\n`));
    }
    expect(text).toContain('MIIB');
  });
});

test('a compose file needs no write to the read-only root for the authority', () => {
  const file = parse(FORMS.compose({ ...exampleSettings('hostb-par'), ca: PEM }));
  expect(file).not.toHaveProperty('configs');
  expect(file).toMatchObject({ services: { agent: { read_only: true, environment: { SVC_NATS_CA: PEM } } } });
});

describe('the user data of a virtual machine', () => {
  type UserData = {
    write_files: { path: string; permissions: string; owner: string; content: string }[];
    runcmd: string[][];
  };
  const data = parse(FORMS.vm({ ...exampleSettings('hosta-ams'), ca: PEM })) as UserData;
  const fileAt = (path: string) => data.write_files.find((file) => file.path === path);

  test('has the unit as it is installed otherwise', () => {
    const unit = readFileSync(join(DEPLOY, 'systemd/svc-agent@.service'), 'utf8');
    expect(fileAt('/etc/systemd/system/svc-agent@.service')?.content).toBe(unit);
  });

  test('gives the key to root only', () => {
    expect(fileAt('/etc/svc/agent-hosta-ams.env')).toMatchObject({ owner: 'root:root', permissions: '0600' });
    expect(fileAt('/etc/svc/ca.pem')).toMatchObject({ permissions: '0644', content: PEM });
  });

  test('runs a script that a shell can read', async () => {
    expect(data.runcmd).toEqual([['/usr/lib/svc/install-agent']]);
    await run('sh', ['-n', '-c', fileAt('/usr/lib/svc/install-agent')?.content ?? '']);
  });

  const schema = schemaOfCloudInit();
  const isSkipped = schema === null && process.env.CI !== 'true';
  if (isSkipped) process.stdout.write('skipped: user data by the schema of cloud-init, which is not there\n');
  const files = globSync('hosts/hosta/*.yaml', { cwd: DEPLOY });
  test.skipIf(isSkipped)('is valid by the schema of cloud-init', () => {
    const ajv = new Ajv({ strict: false, validateSchema: false });
    addFormats.default(ajv);
    const isValid = ajv.compile(schema ?? false);
    expect(isValid({ runcmd: 'no list of commands' })).toBe(false);
    expect(files.length).toBeGreaterThan(10);
    for (const file of files) {
      const text = readFileSync(join(DEPLOY, file), 'utf8');
      expect(text).toMatch(/^#cloud-config\n/);
      isValid(parse(text));
      expect(isValid.errors, file).toBeNull();
    }
  });
});

/**
 * The schema of cloud-init, which Debian's package installs beside the program. The program itself need not
 * be able to run. null: it is not installed.
 */
function schemaOfCloudInit(): object | null {
  const program = findProgram('cloud-init');
  if (program === null) return null;
  const folder = join(dirname(program), '../lib/python3/dist-packages/cloudinit/config/schemas');
  const { $schema: _, ...schema } = JSON.parse(
    readFileSync(join(folder, 'schema-cloud-config-v1.json'), 'utf8'),
  ) as Record<string, unknown>;
  return schema;
}

describe('what an operator gives', () => {
  const ENV_FILE = [
    '# Settings of an agent',
    'SVC_NATS_URL=tls://nats.example.com:4222,tls://other.example.com:4222',
    'SVC_NATS_NKEY=SUAKEY',
    'SVC_REGION=hosta-ams',
    '',
  ].join('\n');
  const GIVEN = {
    ca: null,
    image: 'registry.example.com/agent:1',
    executableUrl: 'https://example.com/a',
    readExecutable: () => Buffer.from('executable'),
    form: null,
  };

  test('stands in the file', () => {
    expect(givenSettings(ENV_FILE, GIVEN)).toEqual({
      region: 'hosta-ams',
      natsUrl: 'tls://nats.example.com:4222,tls://other.example.com:4222',
      natsKey: 'SUAKEY',
      ca: null,
      image: 'registry.example.com/svc-agent',
      executable: {
        url: 'https://example.com/a',
        sha256: 'a29c2123a01df1d0febb9d308a20d8a2fe3d40a91ca8b1294f59f08f9773ebea',
      },
    });
    expect(givenSettings(ENV_FILE, { ...GIVEN, form: 'compose' }).image).toBe('registry.example.com/agent:1');
    expect(formOf('hosta-ams')).toBe('vm');
  });

  test.each([
    ['no region', ENV_FILE.replace('hosta-ams', 'hosta-nowhere'), GIVEN, 'no SVC_REGION'],
    [
      'an own region without a form',
      ENV_FILE.replace('hosta-ams', 'office-berlin'),
      GIVEN,
      '--form is missing',
    ],
    ['no key', ENV_FILE.replace('SUAKEY', ''), GIVEN, 'no usable SVC_NATS_NKEY'],
    ['no address', ENV_FILE.replace(/SVC_NATS_URL=.*/, ''), GIVEN, 'no usable SVC_NATS_URL'],
    ['an authority without its file', `${ENV_FILE}SVC_NATS_CA=/etc/svc/ca.pem\n`, GIVEN, '--ca is missing'],
    [
      'no address of the executable',
      ENV_FILE,
      { ...GIVEN, executableUrl: null },
      '--executable-url is missing',
    ],
    ['no image', ENV_FILE, { ...GIVEN, image: null, form: 'kubernetes' as const }, '--image is missing'],
    [
      'a quote',
      ENV_FILE,
      { ...GIVEN, executableUrl: "https://a/'; rm" },
      'characters that do not belong there',
    ],
  ])('is refused with %s', (_, envFile, given, expected) => {
    expect(() => givenSettings(envFile, given)).toThrow(expected);
  });
});

test('main.ts prints the file, and says what is missing', async () => {
  const main = join(import.meta.dirname, 'main.ts');
  const { stdout } = await run(process.execPath, [main, '--help']);
  expect(stdout).toContain('--settings');
  await expect(run(process.execPath, [main, '--settings', '/nowhere'])).rejects.toThrow(/hosts: .*ENOENT/);
});
