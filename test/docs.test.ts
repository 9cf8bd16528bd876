import { globSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isRegionId } from '@svc/shared/regions.ts';
import { KNOWN_VARIABLES } from '@svc/shared/settings/setting-names.ts';
import { describe, expect, test } from 'vitest';
import { AREAS, decisionsPage } from '../docs/generate/decisions-page.ts';
import { commandsUnder } from './support/deployed/page.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** Files and folders below these, without what is installed, built or kept there. */
function below(pattern: string): string[] {
  const exclude = (path: string): boolean => /(?:^|\/)(?:node_modules|dist|data)(?:\/|$)/.test(path);
  return globSync(pattern, { cwd: ROOT, exclude });
}

const FILES = [...below('*'), ...below('{packages,test,deploy,docs,findings}/**/*')];

const PAGES = FILES.filter((path) => path.endsWith('.md'));
const DECISIONS = PAGES.filter((path) => /^docs\/decisions\/\d{4}-/.test(path)).sort();
const INDEX = 'docs/decisions/README.md';
const numberOf = (path: string): string => basename(path).slice(0, 4);

/** Text of a page without its blocks of code, which show what users write. */
const prose = (path: string): string =>
  read(path)
    .replaceAll(/^(```|~~~)[\s\S]*?^\1/gm, '')
    .replaceAll(/^ {4,}[^ -].*$/gm, '');

test.each(["The coordinator's machine", 'An agent in each region'])(
  'README and docs/deployment.md have the same commands: %s',
  (heading) => {
    // README has no page for the settings of the export.
    const readme = commandsUnder(heading, 'README.md').filter((line) => !line.startsWith('echo OTEL_'));
    const page = commandsUnder(heading).filter((line) => !line.startsWith('curl '));
    expect(readme).toEqual(page);
  },
);

describe('where people copy a monitor from', () => {
  const copied = FILES.filter((path) => /\.(?:md|tf|yaml)$/.test(path))
    .filter((path) => !path.startsWith('docs/decisions/') && path !== 'CHANGELOG.md')
    .filter((path) => /^[ #]*active *[:=] *true/m.test(read(path)));

  test.each(copied)('%s says that monitors are not active by themselves', (path) => {
    const [first] = /^[ #]*active *[:=] *true.*$/m.exec(read(path)) ?? [];
    expect(first).toMatch(/# the default is false/);
  });

  test('are README, the sample and the examples', () => {
    expect(copied).toEqual(
      expect.arrayContaining(['README.md', 'deploy/local/svc.yaml', 'docs/declared-file.md']),
    );
  });
});

describe('decisions', () => {
  const numbers = new Set(DECISIONS.map(numberOf));

  test.each(DECISIONS)('%s has the form of a decision', (path) => {
    const text = read(path);
    const [title = '', blank, date = '', status = '', area = ''] = text.split('\n');
    expect(title).toMatch(new RegExp(`^# ${numberOf(path)}: \\S`));
    expect(blank).toBe('');
    expect(date).toMatch(/^- Date: \d{4}-\d{2}-\d{2}$/);
    expect(status).toMatch(/^- Status: accepted(?:; .+ (?:is|are) changed by decisions? \d{4}.*)?$/);
    expect(AREAS).toContain(area.replace('- Area: ', ''));
    const sections = [...text.matchAll(/^##+ (.+)$/gm)].map(([, section]) => section);
    expect(sections).toEqual(['Context', 'Choice', 'Consequences']);
    expect(text.split('\n').length - 1).toBeLessThan(40);
  });

  test('no number is given twice', () => {
    expect(numbers.size).toBe(DECISIONS.length);
  });

  test('the index has a line for each', () => {
    expect(read(INDEX), 'run `npm run docs`').toBe(decisionsPage());
  });

  test('every decision that code or a page cites is recorded', () => {
    const sources = FILES.filter((path) => /\.(?:ts|mjs|sh|md|yaml)$/.test(path) && path !== INDEX);
    const cited = sources.flatMap((path) => {
      const text = read(path).replaceAll(/\n[ *#/]+/g, ' ');
      const named = [...text.matchAll(/decisions?[ /[]+((?:\d{4}(?:, | and )?)+)/gi)];
      // Decisions cite each other by the number alone, in brackets or at the end of a sentence.
      const bare = DECISIONS.includes(path)
        ? [...text.matchAll(/\((?:\d{4}(?:, )?)+\)|\b(?:in|of) 0\d{3}\b|\b0\d{3} says\b/g)]
        : [];
      return [...named, ...bare].flatMap(([all]) =>
        (all.match(/\d{4}/g) ?? []).map((number) => [path, number]),
      );
    });
    expect(cited.length).toBeGreaterThan(60);
    expect(cited.filter(([, number]) => !numbers.has(number ?? ''))).toEqual([]);
  });
});

/** Built, kept by a running service, of the machine, or of the reader. */
const NOT_OURS =
  /^(?:dist\/|data\/|\/|(?:coordinator|agent)\.mjs$|provider\.cjs$|\.cjs$|(?:nats|accounts|nats-<name>)\.conf$|regions\.json$|(?:resolv|nsswitch)\.conf$|my\.yaml$|…?-worker\.ts$|\.\/x-worker\.ts$|HTTP\/$|@)/;
/** A stream of NATS, and settings of the tests. */
const NO_SETTING = /^SVC_(?:RESULTS|TEST_[A-Z]+)$/;
/** The first tells of the past, the second is made of what was observed. */
const UNCHECKED = ['CHANGELOG.md', 'docs/reference/http-clients.md'];

describe('pages name what there is', () => {
  const pages = PAGES.filter((path) => !UNCHECKED.includes(path));

  /** What the pages name by `pattern` and `isThere` does not know. */
  function missing(
    found: readonly string[],
    {
      pattern,
      text = read,
      isThere,
    }: { pattern: RegExp; text?: typeof read; isThere(name: string, path: string): boolean },
  ): string[] {
    const named = found.flatMap((path) =>
      [...text(path).matchAll(pattern)].map(([all, name = all]): [string, string] => [path, name]),
    );
    expect(named.length).toBeGreaterThan(5);
    return named.filter(([path, name]) => !isThere(name, path)).map(([path, name]) => `${path}: ${name}`);
  }

  test('files and folders', () => {
    const pattern = /`([\w<>@./…-]+(?:\/|\.(?:tsx?|mjs|cjs|md|json|sh|conf|yaml)))`/g;
    const isThere = (name: string): boolean => {
      const end = name.replace(/\/$/, '').replaceAll('.', '\\.').replaceAll(/<\w+>/g, '[^/]+');
      return NOT_OURS.test(name) || FILES.some((file) => new RegExp(`(?:^|/)${end}$`).test(file));
    };
    expect(missing(pages, { pattern, text: prose, isThere })).toEqual([]);
    const program = /\bnode (?:--[\w-]+ )*((?:test|deploy|packages|docs)\/[\w./-]+)/g;
    expect(missing(pages, { pattern: program, isThere: (name) => FILES.includes(name) })).toEqual([]);
  });

  test('links and their anchors', () => {
    const isThere = (link: string, path: string): boolean => {
      if (/^(?:https?|mailto):/.test(link)) return true;
      const [target = '', anchor] = link.split('#');
      const file = target === '' ? path : normalize(join(dirname(path), target)).replace(/\/$/, '');
      return FILES.includes(file) && (anchor === undefined || anchorsOf(file).includes(anchor));
    };
    expect(missing(PAGES, { pattern: /\]\(([^)\s]+)\)/g, isThere })).toEqual([]);
  });

  test('pictures, each with a text for those who do not see it', () => {
    const pictures = FILES.filter(
      (path) => /\.(?:png|jpe?g|gif|svg)$/.test(path) && path.startsWith('docs/'),
    );
    const shown = PAGES.flatMap((path) =>
      [...read(path).matchAll(/!\[([^\]]*)\]\(([^)\s]+)\)/g)].map(([, text = '', target = '']) => {
        expect(text.length, `${path}: text of ${target}`).toBeGreaterThan(20);
        return normalize(join(dirname(path), target));
      }),
    );
    expect(shown.length).toBeGreaterThan(5);
    expect([...new Set(shown)].sort()).toEqual(pictures.sort());
    for (const path of pictures) {
      expect(statSync(join(ROOT, path)).size, path).toBeLessThanOrEqual(150_000);
    }
  });

  test('scripts of npm', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const pattern = /\bnpm run (?:--silent )?([a-z]+)/g;
    expect(missing(pages, { pattern, isThere: (name) => name in scripts })).toEqual([]);
  });

  test('commands of svc, also where the dashboard names them', () => {
    const usages = FILES.filter((path) => /^packages\/cli\/src\/.*commands?\.ts$/.test(path)).flatMap(
      (path) =>
        [...read(path).matchAll(/ npm run svc -- ([^\n]+)$/gm)].map(([, usage = '']) => usage.split(/[ |]/)),
    );
    const isThere = (named: string): boolean => {
      const [command, ...words] = named.split(' ');
      const ofCommand = usages.filter(([first]) => first === command);
      return ofCommand.some((usage) => words.every((word) => usage.includes(word)));
    };
    const shown = FILES.filter((path) => /^packages\/coordinator\/src\/dashboard\/.*\.ts$/.test(path));
    const pattern = /(?:npm run svc -- |(?:`|<code>)svc )([a-z][a-z-]*(?: [a-z]+| [A-Z]+)*)(?=[`<\n])/g;
    expect(missing([...pages, ...shown], { pattern, isThere })).toEqual([]);
  });

  test('settings', () => {
    const isThere = (name: string): boolean => KNOWN_VARIABLES.has(name) || NO_SETTING.test(name);
    expect(missing(pages, { pattern: /\bSVC_[A-Z][A-Z_]*[A-Z]\b/g, isThere })).toEqual([]);
  });

  test('regions', () => {
    expect(missing(pages, { pattern: /\bhost[abc]-[a-z0-9-]*[a-z0-9]/g, isThere: isRegionId })).toEqual([]);
  });
});

/** Anchors of the headings of a page, as GitHub makes them, and those that stand in it. */
function anchorsOf(path: string): string[] {
  const text = read(path);
  const written = [...text.matchAll(/<a id="([^"]+)">/g)].map(([, anchor = '']) => anchor);
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
  return [...written, ...headings];
}
