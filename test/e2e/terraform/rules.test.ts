/**
 * The client of the plug-in protocol must refuse what Terraform refuses; otherwise its flows prove nothing.
 * Each rule has a provider that breaks this rule alone.
 */
import { describe, expect, test } from 'vitest';
import type { Diagnostic } from '../../support/terraform/diagnostic.ts';
import { ObedientPlugin } from '../../support/terraform/obedient-plugin.ts';
import { ProtocolWorkspace } from '../../support/terraform/protocol-workspace.ts';
import { type Body, type Configuration, ref } from '../../support/terraform/runner.ts';
import { type ObjectValue, UNKNOWN, type Value } from '../../support/terraform/value.ts';

type Plans = Parameters<ObedientPlugin['plan']>[1];
type Applies = Parameters<ObedientPlugin['apply']>[1];

const thing = (body: Body = {}): Configuration => ({
  resource: { svc_thing: { a: { name: 'a', tags: ['x', 'y'], part: [{ key: 'k' }], ...body } } },
});

/** Terraform's diagnostics, one line each. */
function said(diagnostics: readonly Diagnostic[]): string {
  return diagnostics.map(({ summary, detail }) => `${summary}: ${detail}`).join('\n');
}

async function applied(plugin: ObedientPlugin, ...configurations: Configuration[]) {
  const workspace = await ProtocolWorkspace.over(plugin, {});
  let diagnostics: readonly Diagnostic[] = [];
  for (const configuration of configurations) {
    await workspace.configure(configuration);
    ({ diagnostics } = await workspace.apply());
  }
  return { workspace, text: said(diagnostics) };
}

/** A provider whose plans are changed before they are answered. */
function planning(change: (planned: ObjectValue, request: Plans) => Value): ObedientPlugin {
  return new (class extends ObedientPlugin {
    override async plan(type: string, request: Plans) {
      const answer = await super.plan(type, request);
      return { ...answer, planned: change(answer.planned as ObjectValue, request) };
    }
  })();
}

/** A provider whose results are changed before they are answered. */
function applying(change: (state: ObjectValue, request: Applies) => Value): ObedientPlugin {
  return new (class extends ObedientPlugin {
    override async apply(type: string, request: Applies) {
      const answer = await super.apply(type, request);
      return { ...answer, state: change(answer.state as ObjectValue, request) };
    }
  })();
}

/** A provider whose reads differ from what it created. */
function reading(change: (state: ObjectValue) => Value): ObedientPlugin {
  return new (class extends ObedientPlugin {
    override async read(type: string, state: Value, kept: Uint8Array) {
      const answer = await super.read(type, state, kept);
      return { ...answer, state: change(answer.state as ObjectValue) };
    }
  })();
}

describe('a provider that keeps the rules', () => {
  test('creates, has an empty second plan, updates, replaces, imports and removes', async () => {
    const plugin = new ObedientPlugin();
    const { workspace, text } = await applied(plugin, thing());
    expect(text).toBe('');
    expect(await workspace.plan()).toEqual({ changes: [], diagnostics: [] });
    expect(await workspace.state()).toEqual({
      'svc_thing.a': {
        name: 'a',
        place: null,
        note: null,
        secret: null,
        size: 3,
        tags: ['x', 'y'],
        id: '1',
        part: [{ key: 'k' }],
      },
    });
    await workspace.configure(thing({ note: 'n', tags: ['y', 'x'], part: [] }));
    expect((await workspace.plan()).changes).toEqual([{ address: 'svc_thing.a', action: 'update' }]);
    await workspace.configure(thing({ place: 'elsewhere' }));
    expect((await workspace.plan()).changes).toEqual([{ address: 'svc_thing.a', action: 'replace' }]);
    expect(said((await workspace.apply()).diagnostics)).toBe('');
    expect([...plugin.objects.keys()]).toEqual(['2']);
    const other = await ProtocolWorkspace.over(plugin, {});
    await other.configure({ ...thing({ place: 'elsewhere' }), import: [{ to: 'svc_thing.a', id: '2' }] });
    expect((await other.plan()).changes).toEqual([{ address: 'svc_thing.a', action: 'import' }]);
    expect(said((await other.destroy()).diagnostics)).toBe('');
    expect(said((await workspace.destroy()).diagnostics)).toBe('');
    expect(plugin.objects.size).toBe(0);
  });

  test('resources wait for the values they refer to, data sources too', async () => {
    const plugin = new ObedientPlugin();
    const { workspace, text } = await applied(plugin, {
      resource: {
        svc_thing: {
          b: { name: `b of ${ref('svc_thing.a.id')}`, tags: [ref('svc_thing.a.id')] },
          a: { name: 'a' },
        },
      },
      data: { svc_thing: { c: { id: ref('svc_thing.b.id'), name: 'ignored' } } },
      output: { name: { value: ref('data.svc_thing.c.name') } },
    });
    expect(text).toBe('');
    expect(await workspace.outputs()).toEqual({ name: 'b of 1' });
    expect((await workspace.plan()).changes).toEqual([]);
  });

  test('the order of a set does not matter', async () => {
    const { workspace } = await applied(
      applying((state, { planned }) => (planned === null ? null : { ...state, tags: ['y', 'x'] })),
      thing(),
    );
    expect((await workspace.plan()).changes).toEqual([]);
  });
});

describe('plans that Terraform refuses', () => {
  const cases: [string, ObedientPlugin, string][] = [
    [
      'a default for an attribute that the provider may not set',
      planning((planned) => ({ ...planned, note: 'default' })),
      'invalid plan: planned an invalid value for svc_thing.note: planned value "default" for a non-computed attribute',
    ],
    [
      'a configured value changed',
      planning((planned) => ({ ...planned, name: 'A' })),
      '.name: planned value "A" does not match config value "a"',
    ],
    [
      'a configured value of an attribute with a default changed',
      planning((planned) => ({ ...planned, tags: ['x'] })),
      '.tags: planned value ["x"] does not match config value ["x","y"]',
    ],
    [
      'blocks null instead of empty',
      planning((planned) => ({ ...planned, part: null })),
      'must be empty to indicate no blocks, not null',
    ],
    ['blocks unknown', planning((planned) => ({ ...planned, part: UNKNOWN })), 'must not be unknown itself'],
    [
      'a block left out',
      planning((planned) => ({ ...planned, part: [] })),
      'block count in plan (0) disagrees with count in config (1)',
    ],
    [
      'an attribute in a block changed',
      planning((planned) => ({ ...planned, part: [{ key: 'K' }] })),
      '.part[0].key: planned value "K" does not match config value "k"',
    ],
    [
      'an attribute missing',
      planning(({ note: _, ...planned }) => planned),
      'an object with 8 attributes is required (7 given): note missing',
    ],
    [
      'a further attribute',
      planning((planned) => ({ ...planned, more: null })),
      'unsupported attribute "more"',
    ],
    [
      'a wrong type',
      planning((planned) => ({ ...planned, size: true })),
      '.size: number required, but it is bool',
    ],
    ['no object at all', planning(() => null), 'planned for absence, but config wants existence'],
  ];

  test.each(cases)('%s', async (_name, plugin, expected) => {
    const { text, workspace } = await applied(plugin, thing());
    expect(text).toContain(expected);
    expect(plugin.objects.size).toBe(0);
    expect(await workspace.state()).toEqual({});
  });

  test('a secret is not shown with the breach', async () => {
    const plugin = planning((planned) => ({ ...planned, secret: 'other secret' }));
    const { text } = await applied(plugin, thing({ secret: 'the secret' }));
    expect(text).toContain('.secret: sensitive planned value does not match');
    expect(text).not.toMatch(/the secret|other secret/);
  });

  test('replacement because of an attribute that is not there', async () => {
    const plugin = new (class extends ObedientPlugin {
      override async plan(type: string, request: Plans) {
        return { ...(await super.plan(type, request)), replaces: [['plaice']] };
      }
    })();
    const { text } = await applied(plugin, thing(), thing({ note: 'n' }));
    expect(text).toContain('has indicated "requires replacement" for a non-existent attribute path .plaice');
  });

  test('replacement because of an attribute that did not change is an update', async () => {
    const plugin = new (class extends ObedientPlugin {
      override async plan(type: string, request: Plans) {
        return { ...(await super.plan(type, request)), replaces: [['place']] };
      }
    })();
    const { workspace } = await applied(plugin, thing());
    await workspace.configure(thing({ note: 'n' }));
    expect((await workspace.plan()).changes).toEqual([{ address: 'svc_thing.a', action: 'update' }]);
  });

  test('another plan at the apply than before it', async () => {
    let plans = 0;
    const plugin = planning((planned) => ({ ...planned, size: plans++ === 0 ? null : UNKNOWN }));
    const { text } = await applied(plugin, thing());
    expect(text).toContain(
      'inconsistent final plan: produced an invalid new value for svc_thing.size: was known, but now unknown',
    );
  });

  test('an unknown value that never became known is no longer planned', async () => {
    const plugin = planning((planned) => ({ ...planned, size: UNKNOWN }));
    const { workspace } = await applied(plugin, thing());
    expect((await workspace.plan()).changes).toEqual([{ address: 'svc_thing.a', action: 'update' }]);
  });
});

describe('results that Terraform refuses', () => {
  const cases: [string, ObedientPlugin, string][] = [
    [
      'a text trimmed',
      applying((state) => ({ ...state, name: 'b' })),
      'inconsistent result after apply: produced an unexpected new value for svc_thing.name: was "a", but now "b"',
    ],
    ['null became empty', applying((state) => ({ ...state, note: '' })), '.note: was null, but now ""'],
    [
      'empty became null',
      applying((state) => ({ ...state, tags: null })),
      '.tags: was ["x","y"], but now null',
    ],
    [
      'a member of a set lost',
      applying((state) => ({ ...state, tags: ['x'] })),
      '.tags: planned set element "y" does not correlate',
    ],
    [
      'a further member of a set',
      applying((state) => ({ ...state, tags: ['x', 'y', 'z'] })),
      '.tags: actual set element "z" does not correlate',
    ],
    ['a block lost', applying((state) => ({ ...state, part: [] })), '.part: block count changed from 1 to 0'],
    [
      'blocks null',
      applying((state) => ({ ...state, part: null })),
      '.part: attribute representing nested block must be empty',
    ],
    [
      'a value in a block',
      applying((state) => ({ ...state, part: [{ key: 'K' }] })),
      '.part[0].key: was "k", but now "K"',
    ],
    [
      'an unknown value',
      applying((state) => ({ ...state, size: UNKNOWN })),
      'the provider still indicated an unknown value',
    ],
    ['nothing', applying(() => null), 'was present, but now absent'],
  ];

  test.each(cases)(
    '%s; what was made is kept and marked for replacement',
    async (_name, plugin, expected) => {
      const { text, workspace } = await applied(plugin, thing());
      expect(text).toContain(expected);
      if (Object.keys(await workspace.state()).length > 0)
        expect(await workspace.tainted()).toEqual(['svc_thing.a']);
    },
  );

  test.each<[string, (state: ObjectValue) => Value]>([
    ['an attribute missing', ({ note: _, ...state }) => state],
    ['a wrong type', (state) => ({ ...state, tags: 'x' })],
  ])('%s: the new object is lost', async (_name, change) => {
    const { text, workspace } = await applied(applying(change), thing());
    expect(text).toContain('Provider produced invalid object');
    expect(await workspace.state()).toEqual({});
  });

  test('an object that is there after its removal', async () => {
    const plugin = applying((state, { prior }) => state ?? prior);
    const { text } = await applied(plugin, thing(), {});
    expect(text).toContain('there was still an object after its removal');
  });

  test('a failed creation that knows its id is replaced next time; one that knows nothing is made again', async () => {
    for (const knowsIt of [true, false]) {
      const plugin = new (class extends ObedientPlugin {
        override async apply(type: string, request: Applies) {
          const answer = await super.apply(type, request);
          const diagnostics: Diagnostic[] = [{ severity: 'error', summary: 'no', detail: 'answer' }];
          return { ...answer, state: knowsIt ? answer.state : null, diagnostics };
        }
      })();
      const { workspace } = await applied(plugin, thing());
      expect(await workspace.tainted()).toEqual(knowsIt ? ['svc_thing.a'] : []);
      const action = knowsIt ? 'replace' : 'create';
      expect((await workspace.plan()).changes).toEqual([{ address: 'svc_thing.a', action }]);
    }
  });
});

describe('reads that Terraform refuses', () => {
  test.each<[string, (state: ObjectValue) => Value, string]>([
    ['an unknown value', (state) => ({ ...state, note: UNKNOWN }), 'has unknown values during refresh'],
    ['an attribute missing', ({ note: _, ...state }) => state, 'note missing'],
    ['blocks null', (state) => ({ ...state, part: null }), 'svc_thing.part must be empty, not null'],
  ])('%s', async (_name, change, expected) => {
    const { workspace } = await applied(reading(change), thing());
    expect(said((await workspace.plan()).diagnostics)).toContain(expected);
  });

  test('an object that is gone is made again', async () => {
    const plugin = new ObedientPlugin();
    const { workspace } = await applied(plugin, thing());
    plugin.objects.clear();
    expect((await workspace.plan()).changes).toEqual([{ address: 'svc_thing.a', action: 'create' }]);
  });

  test('an import of nothing', async () => {
    const workspace = await ProtocolWorkspace.over(new ObedientPlugin(), {});
    await workspace.configure(thing());
    expect(said(await workspace.import('svc_thing.a', '7'))).toContain(
      'Cannot import non-existent remote object',
    );
  });

  test('a data source without an answer, and one with unknown values', async () => {
    const data: Configuration = { data: { svc_thing: { a: { id: '7', name: 'x' } } } };
    const { text } = await applied(new ObedientPlugin(), data);
    expect(text).toContain('null object');
    const plugin = new (class extends ObedientPlugin {
      override async readData(_type: string, config: ObjectValue) {
        return { state: { ...config, note: UNKNOWN }, diagnostics: [] };
      }
    })();
    expect((await applied(plugin, data)).text).toContain('unknown values after read');
  });
});

test('a diagnostic that points at nothing is reported', async () => {
  const plugin = new (class extends ObedientPlugin {
    override async validateResource(): Promise<Diagnostic[]> {
      return [{ severity: 'error', summary: 'wrong', detail: '', path: ['part', 0, 'kee'] }];
    }
  })();
  const workspace = await ProtocolWorkspace.over(plugin, {});
  await workspace.configure(thing());
  expect(said(await workspace.validate())).toContain('Diagnostic without a place: wrong at .part[0].kee');
});
