import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { unusedExports } from './support/unused-exports.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

type Import = { file: string; line: number; text: string; target: string };

const texts = new Map<string, string>();

/** The text of a file, which is read once. */
function textOf(file: string): string {
  const text = texts.get(file) ?? readFileSync(join(ROOT, file), 'utf8');
  texts.set(file, text);
  return text;
}

const isNotKept = (path: string): boolean => /(?:^|\/)(?:node_modules|dist)$/.test(path);

/**
 * Every import of every source file, later ones (`import('…')`)
 * included, relative ones as paths from the root.
 */
function imports(pattern: string, options: { withTests: boolean }): Import[] {
  return globSync(pattern, { cwd: ROOT, exclude: isNotKept })
    .filter((file) => options.withTests || !file.endsWith('.test.ts'))
    .flatMap((file) =>
      textOf(file)
        .split('\n')
        .flatMap((text, index): Import[] => {
          const target =
            /^(?:import|export|\} from).*?from '([^']+)'|^\} from '([^']+)'|^import '([^']+)'|\bimport\('([^']+)'\)/.exec(
              text,
            );
          const name = target?.[1] ?? target?.[2] ?? target?.[3] ?? target?.[4];
          if (name === undefined) return [];
          const path = name.startsWith('.') ? normalize(join(dirname(file), name)) : name;
          return [{ file, line: index + 1, text, target: path }];
        }),
    );
}

/** Imports of what runs in production. */
const production = (pattern: string) => imports(pattern, { withTests: false });

const offenders = (found: Import[]) =>
  found.map(({ file, line, target }) => `${file}:${line} imports ${target}`);

/** Files of production whose text has this. */
function sourcesWith(pattern: string, text: RegExp): string[] {
  return globSync(pattern, { cwd: ROOT })
    .filter((file) => !file.endsWith('.test.ts'))
    .filter((file) => text.test(textOf(file)))
    .sort();
}

/** The circles that a depth-first walk finds, each as its files in order. */
function circlesIn(found: readonly Import[]): string[] {
  const targets = Map.groupBy(found, ({ file }) => file);
  const circles: string[] = [];
  const done = new Set<string>();
  const way: string[] = [];
  const walk = (file: string): void => {
    if (done.has(file)) return;
    const at = way.indexOf(file);
    if (at !== -1) {
      circles.push([...way.slice(at), file].join(' → '));
      return;
    }
    way.push(file);
    for (const { target } of targets.get(file) ?? []) walk(target);
    way.pop();
    done.add(file);
  };
  for (const file of targets.keys()) walk(file);
  return circles;
}

/** Every file with imports, as far as it is kept. */
const EVERY_FILE = '{packages,deploy,docs,test}/**/*.{ts,mjs}';

/** The file that an import from a package names. */
function pathOf(target: string): string {
  return target.replace(/^@svc\/([\w-]+)\//, 'packages/$1/src/');
}

/** Commands that look at the machine that they are called on. */
const OF_A_MACHINE = /^packages\/cli\/src\/machine\//;

const sources = { withTests: false };
const everything = { withTests: true };

describe('imports point the right way', () => {
  test('the walk finds the imports it judges', () => {
    expect(imports('packages/*/src/**/*.ts', everything).length).toBeGreaterThan(200);
  });

  test('agent and coordinator do not know each other', () => {
    const wrong = [
      ...imports('packages/agent/src/**/*.ts', sources).filter(({ target }) =>
        target.includes('coordinator'),
      ),
      ...imports('packages/coordinator/src/**/*.ts', sources).filter(({ target }) =>
        target.includes('@svc/agent'),
      ),
    ];
    expect(offenders(wrong)).toEqual([]);
  });

  test('shared knows neither', () => {
    const wrong = imports('packages/shared/src/**/*.ts', sources).filter(({ target }) =>
      /@svc\/(agent|coordinator)|packages\/(agent|coordinator)/.test(target),
    );
    expect(offenders(wrong)).toEqual([]);
  });

  test('what works over the HTTP API knows nothing of the server', () => {
    const wrong = imports('packages/{cli,terraform-provider}/src/**/*.ts', sources).filter(
      ({ file, target }) =>
        !OF_A_MACHINE.test(file) && target.startsWith('@svc/') && !target.startsWith('@svc/shared/'),
    );
    expect(offenders(wrong)).toEqual([]);
  });

  test('commands about a machine know settings, files and probes of the services, and nothing else', () => {
    const allowed =
      /^@svc\/(?:shared\/|coordinator\/(?:config|store\/(?:copy-store|change-shards|database-url|sqlite\/(?:backup|database-files)|access\/key-files))\.ts$|agent\/(?:config|dns\/servers|network\/reference-list|probes\/(?:probe|registry))\.ts$)/;
    const wrong = imports('packages/cli/src/machine/**/*.ts', sources).filter(
      ({ target }) => target.startsWith('@svc/') && !allowed.test(target),
    );
    expect(offenders(wrong)).toEqual([]);
  });

  test('packages know nothing of what is built from them, what is written about them, and what tests them', () => {
    const used = imports('packages/*/src/**/*.ts', sources).filter(({ target }) =>
      /^(?:deploy|docs|test)\//.test(target),
    );
    expect(offenders(used)).toEqual([]);
    expect(globSync('packages/*/src/**/*test-support*', { cwd: ROOT })).toEqual([]);
  });

  test('packages reach each other by workspace name', () => {
    const wrong = imports('packages/*/src/**/*.ts', sources).filter(
      ({ file, target }) =>
        !target.startsWith('@') &&
        target.startsWith('packages/') &&
        target.split('/')[1] !== relative('packages', file).split('/')[0],
    );
    expect(offenders(wrong)).toEqual([]);
  });

  test('OpenTelemetry is loaded only where something is exported over OTLP', () => {
    const own = 'packages/shared/src/own-metrics/';
    const model = 'packages/shared/src/otlp/metric-data.ts';
    const exporting = 'packages/coordinator/src/export/';
    const all = imports('packages/*/src/**/*.ts', sources);
    const knowing = all.filter(({ target }) => target.startsWith('@opentelemetry/'));
    expect(offenders(knowing.filter(({ file }) => !file.startsWith(own) && file !== model))).toEqual([]);
    // Files that load it, themselves or by way of others. The last of them are loaded late.
    const late = [`${own}reader.ts`, `${exporting}pipeline.ts`];
    const loading = new Set(knowing.map(({ file }) => file));
    const importing = () =>
      all.filter(
        ({ file, text, target }) =>
          loading.has(pathOf(target)) && !loading.has(file) && !/^import type|\bimport\('/.test(text),
      );
    const isInside = (file: string) => file.startsWith(own) || file.startsWith(exporting);
    for (let found = importing(); found.length > 0; found = importing()) {
      expect(
        offenders(found.filter(({ file, target }) => late.includes(pathOf(target)) || !isInside(file))),
      ).toEqual([]);
      for (const { file } of found) loading.add(file);
    }
  });

  test('only the bus knows the NATS client', () => {
    const wrong = imports('packages/*/src/**/*.ts', sources).filter(
      ({ file, target }) => target === 'nats' && !file.startsWith('packages/shared/src/nats/'),
    );
    expect(offenders(wrong)).toEqual([]);
  });

  test('decisions are pure: verdict and assertions import values and functions on them, and ask no clock', () => {
    const decisions = 'packages/{coordinator/src/verdict,shared/src/assertions}/**/*.ts';
    const allowed =
      /^packages\/(?:coordinator\/src\/verdict\/|shared\/src\/(?:assertions\/|(?:address|channels\/alert|collections|ids|limits|messages\/check|messages\/check-result|periodicity|quorum|regions|secret|url-secrets)\.ts$))/;
    const found = imports(decisions, sources);
    expect(found.length).toBeGreaterThan(100);
    expect(offenders(found.filter(({ target }) => !allowed.test(pathOf(target))))).toEqual([]);
    const impure =
      /\bDate\.now\(|\bnew Date\(\)|\bperformance\.|\bMath\.random\(|\brandomUUID\(|\bset(?:Timeout|Interval|Immediate)\(/;
    expect(sourcesWith(decisions, impure)).toEqual([]);
  });

  test('SQL lies in the store alone', () => {
    const sql =
      /node:sqlite|\.prepare\(|\bkysely\b|\b(?:selectFrom|insertInto|updateTable|deleteFrom)\(|\bsql`|\.runEach\(|\b(?:SELECT|INSERT INTO|DELETE FROM|UPDATE \w+ SET|PRAGMA)\b/;
    const found = sourcesWith('packages/coordinator/src/**/*.ts', sql);
    expect(found.some((file) => file.includes('/store/'))).toBe(true);
    expect(found.filter((file) => !file.startsWith('packages/coordinator/src/store/'))).toEqual([]);
  });

  test('queries keep to what PostgreSQL has as well, the dialect apart', () => {
    const ofSqliteAlone =
      /\bPRAGMA\b|\bsqlite_|\bjson_(?:each|extract|group_array|array|object)\b|->>|\bINSERT OR\b|\bREPLACE INTO\b|\b(?:ifnull|group_concat|unixepoch|strftime|instr|typeof|total|printf|iif)\(|\bGLOB\b|\bROWID\b|\bAUTOINCREMENT\b|\bCOLLATE\b|, 'is(?: not)?', (?!null\b)/;
    const own =
      /\/store\/(?:dialect|migrations\/.*|sqlite\/(?:backup|checkpoints|read-requests|write-requests))\.ts$/;
    const found = sourcesWith('packages/coordinator/src/store/**/*.ts', ofSqliteAlone);
    expect(found).toContain('packages/coordinator/src/store/dialect.ts');
    expect(found.filter((file) => !own.test(file))).toEqual([]);
  });

  test('what goes out is for alerts and exports alike: it knows neither, nor the database', () => {
    const own =
      /^(?:packages\/coordinator\/src\/outgoing\/|@svc\/shared\/|node:|(?:undici|nodemailer\/lib\/(?:smtp-connection|mail-composer))$)/;
    const wrong = imports('packages/coordinator/src/outgoing/**/*.ts', sources).filter(
      ({ target }) => !own.test(target),
    );
    expect(offenders(wrong)).toEqual([]);
  });

  test('nodemailer is loaded only where mail is sent', () => {
    const loads = /^import (?!type ).*from 'nodemailer/m;
    expect(sourcesWith('packages/*/src/**/*.ts', loads)).toEqual([]);
  });

  test('no file of the repository imports itself by way of others', () => {
    const all = imports(EVERY_FILE, everything).map((found) => ({ ...found, target: pathOf(found.target) }));
    expect(all.length).toBeGreaterThan(5_000);
    expect(circlesIn(all)).toEqual([]);
    const circle = (file: string, target: string) => ({ file, line: 1, text: '', target });
    expect(circlesIn([circle('a', 'b'), circle('b', 'c'), circle('c', 'b')])).toEqual(['b → c → b']);
  });

  test('what Terraform plans is pure', () => {
    const allowed =
      /^(?:@svc\/shared\/(?:resources|reference|channels)\/|@svc\/shared\/(?:errors|nearest|secret)\.ts$|zod$)/;
    const own = /^packages\/terraform-provider\/src\/(?:planning\/|(?:value|schema|provider)\.ts$)/;
    const wrong = imports('packages/terraform-provider/src/planning/**/*.ts', sources).filter(
      ({ target }) => !allowed.test(target) && !own.test(target),
    );
    expect(offenders(wrong)).toEqual([]);
  });

  test('the plug-in protocol knows nothing of svc', () => {
    const own = /^packages\/terraform-provider\/src\/(?:plugin\/|(?:value|schema|provider|version)\.ts$)/;
    const wrong = imports('packages/terraform-provider/src/plugin/**/*.ts', sources).filter(
      ({ target }) =>
        (target.startsWith('packages/') && !own.test(target)) ||
        (target.startsWith('@svc/') && target !== '@svc/shared/errors.ts'),
    );
    expect(offenders(wrong)).toEqual([]);
  });

  test('tests mock no module of ours', () => {
    const mocking = globSync('{packages,test,deploy}/**/*.test.ts', { cwd: ROOT }).filter((file) =>
      /\bvi\s*\.\s*mock\(/.test(textOf(file).replace(/\/\\b.*?\\\(\//, '')),
    );
    expect(mocking).toEqual([]);
  });
});

/** Exports that are used by something else than an import, or that are kept unchanged. */
const USED_OTHERWISE = [
  /^deploy\/build\/thread-url\.ts /, // Built into every bundle.
  /^test\/fixtures\//, // As a former version has them.
  /^packages\/shared\/src\/messages\/subjects\.ts ALL_/, // For who listens from outside, as tests do.
  /^docs\/generate\/terraform-pages\.ts exampleFolders$/, // A list for the tests of all.
];

test('what a file exports, another one uses', () => {
  const files = globSync('{packages,deploy,docs,test}/**/*.ts', {
    cwd: ROOT,
    exclude: isNotKept,
  });
  const unused = unusedExports(ROOT, [...files, 'vitest.config.ts'].sort());
  const wrong = unused.filter(
    ({ file, name }) => !USED_OTHERWISE.some((used) => used.test(`${file} ${name}`)),
  );
  expect(wrong.map(({ file, line, name }) => `${file}:${line} exports ${name}`)).toEqual([]);
});

/** The links in comments that a line end breaks or whose name the file does not contain. */
function wrongLinks(text: string): string[] {
  const code = text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
  const names = new Set(code.match(/#?[\w$]+/g));
  const links = text.matchAll(/\{@link(?:[^}]*\n[^}]*| (?!https?:)(#?[\w$]+)[^}\n]*)\}/g);
  return [...links].filter(([, name]) => name === undefined || !names.has(name)).map(([link]) => link);
}

test('a link in a comment names something in its file, and stands in one line', () => {
  const link = (name: string) => `/** See {@${'link'} ${name}}. */\nclass Known { #member = 1; }`;
  expect(wrongLinks(link('Known.member') + link('#member'))).toEqual([]);
  for (const name of ['Unknown', '#known', '\n * Known']) expect(wrongLinks(link(name))).toHaveLength(1);
  const found = globSync('{packages,deploy,docs,test}/**/*.{ts,mjs}', {
    cwd: ROOT,
    exclude: isNotKept,
  }).flatMap((file) => wrongLinks(textOf(file)).map((wrong) => `${file}: ${wrong}`));
  expect(found).toEqual([]);
});

/** Words of the domain, as types are named by them. Each means one thing in all packages. */
const WORDS = [
  'Agent',
  'Announced',
  'Attempt',
  'CheckResult',
  'Incident',
  'Job',
  'MonitorState',
  'OpenSlot',
  'Outbox',
  'Outcome',
  'Probe',
  'Problem',
  'RegionPresence',
  'Slot',
  'Transition',
  'Verdict',
  'Vote',
];

test('a word of the domain names one type', () => {
  // The outcome of a call of the Terraform plug-in, which
  // knows nothing of svc, and of the request for an icon.
  const others = /packages\/terraform-provider\/src\/provider\.ts|pages\/icons\/icon-fetches\.ts/;
  const declared = globSync('packages/*/src/**/*.ts', { cwd: ROOT })
    .filter((file) => !file.endsWith('.test.ts') && !others.test(file))
    .flatMap((file) => {
      const text = textOf(file);
      const types = text.matchAll(/^(?:export )?(?:abstract )?(?:type|class|interface) (\w+)/gm);
      return [...types].map(([, name = '']) => ({ file, name }));
    });
  const homes = WORDS.map((word) => declared.filter(({ name }) => name === word).map(({ file }) => file));
  expect(homes.flat().length).toBeGreaterThan(10);
  expect(homes.filter(({ length }) => length > 1)).toEqual([]);
});

/**
 * The folders that each folder of the coordinator may import. Imports run one way, without circles.
 * Dispatch and recording do not import each other; they share `verdict/slots.ts`. The files beside
 * the folders wire the parts. Only `leading`, which wires too, imports the settings among them.
 */
const FOLDERS: Readonly<Record<string, readonly string[]>> = {
  leading: [
    '(wiring)',
    ...[
      'api',
      'pages',
      'declaration',
      'history',
      'checks',
      'alerts',
      'export',
      'outgoing',
      'store',
      'verdict',
    ],
  ],
  dashboard: ['api', 'web', 'store', 'verdict'],
  api: ['pages', 'web', 'declaration', 'history', 'checks', 'alerts', 'export', 'store', 'verdict'],
  pages: ['web', 'declaration', 'history', 'alerts', 'outgoing', 'store', 'verdict'],
  declaration: ['store', 'verdict'],
  history: ['store', 'verdict'],
  checks: ['store', 'verdict'],
  alerts: ['outgoing', 'store', 'verdict'],
  export: ['outgoing', 'store', 'verdict'],
  outgoing: [],
  web: ['store'],
  store: ['verdict'],
  verdict: [],
};

const COORDINATOR = 'packages/coordinator/src/';
const WIRING = '(wiring)';

function folderOf(path: string): string {
  const [folder = '', ...rest] = path.slice(COORDINATOR.length).split('/');
  return rest.length === 0 ? WIRING : folder;
}

describe('the folders of the coordinator', () => {
  const between = production(`${COORDINATOR}**/*.ts`)
    .map((found) => ({ ...found, target: pathOf(found.target) }))
    .filter(({ target }) => target.startsWith(COORDINATOR))
    .map((found) => ({ ...found, from: folderOf(found.file), to: folderOf(found.target) }))
    .filter(({ from, to }) => from !== to);

  test('are all in the table', () => {
    const folders = new Set(globSync(`${COORDINATOR}*/`, { cwd: ROOT }).map((path) => path.split('/')[3]));
    expect([...folders].sort()).toEqual(Object.keys(FOLDERS).sort());
  });

  test('import only what the table lets them', () => {
    const wrong = between.filter(({ from, to }) => from !== WIRING && !FOLDERS[from]?.includes(to));
    expect(offenders(wrong)).toEqual([]);
  });

  test('depend on each other one way', () => {
    const table = Object.entries(FOLDERS).flatMap(([file, targets]) =>
      targets.map((target) => ({ file, line: 0, text: '', target })),
    );
    expect(circlesIn(table)).toEqual([]);
    console.info(folderGraph(between));
  });
});

/**
 * What each folder below `test/` may import of `test/`. All may import the packages,
 * `deploy/` and `docs/`; the files beside the folders are tests, and may import all.
 */
const TEST_FOLDERS: Readonly<Record<string, readonly string[]>> = {
  bench: ['support'],
  browser: ['support', 'screenshots'],
  conformance: ['support', 'simulation'],
  e2e: ['support', 'refusals'],
  fixtures: [],
  fuzz: ['support', 'simulation', 'conformance'],
  integration: ['support', 'fixtures'],
  loaded: [],
  refusals: ['support'],
  screenshots: ['support'],
  simulation: ['support'],
  support: [],
};

describe('the folders beside the packages', () => {
  test('are imported one way: deployment knows the packages, and the pages that are written know their tests', () => {
    const ofDeployment = production('deploy/**/*.{ts,mjs}').filter(({ target }) =>
      /^(?:docs|test)\//.test(target),
    );
    const ofPages = production('docs/**/*.ts').filter(({ target }) =>
      /^(?:deploy|test\/(?!conformance\/))/.test(target),
    );
    expect(offenders([...ofDeployment, ...ofPages])).toEqual([]);
  });

  test('of the tests import only what the table lets them', () => {
    const folders = globSync('test/*/', { cwd: ROOT }).map((path) => path.split('/')[1]);
    expect(folders.sort()).toEqual(Object.keys(TEST_FOLDERS));
    const wrong = imports('test/*/**/*.ts', everything).filter(({ file, target }) => {
      const [from = '', to = ''] = [file, target].map((path) => path.split('/')[1]);
      return target.startsWith('test/') && from !== to && !TEST_FOLDERS[from]?.includes(to);
    });
    expect(offenders(wrong)).toEqual([]);
  });
});

/** A line for each folder, with the number of its imports from each other folder. */
function folderGraph(between: readonly { from: string; to: string }[]): string {
  const lines = [...Map.groupBy(between, ({ from }) => from)].map(([from, found]) => {
    const counts = [...Map.groupBy(found, ({ to }) => to)].map(([to, { length }]) => `${to} ${length}`);
    return `${from.padEnd(14)}→ ${counts.sort().join(', ')}`;
  });
  return lines.sort().join('\n');
}
