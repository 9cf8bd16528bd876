/** The whole life of every kind of resource. Every attribute is changed and removed on its own. */
import { DEFINITIONS, RESOURCE_KINDS, type ResourceKind } from '@svc/shared/resources/registry.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunningApi } from '../../support/api.ts';
import { providerFor, startApiWithoutLimit } from '../../support/terraform/api.ts';
import { firstBody, SAMPLES, type Sample } from '../../support/terraform/attribute-values.ts';
import { describeTerraform } from '../../support/terraform/describe-terraform.ts';
import {
  apply,
  applyForGood,
  changesIn,
  destroy,
  errorsOf,
  expectNothingToDo,
} from '../../support/terraform/expectations.ts';
import type { Body, Configuration, State } from '../../support/terraform/runner.ts';
import type { TerraformWorkspace } from '../../support/terraform/terraform-workspace.ts';

/** The change of one resource in one step. The other resources of the step have changes of their own. */
type Step = {
  readonly sample: Sample;
  readonly attribute: string;
  readonly body: Body;
  readonly isRemoval: boolean;
};

/** The change of one attribute: another value, or its removal from the configuration. */
type Move = { readonly attribute: string } & ({ readonly value: unknown } | { readonly isRemoval: true });

/** Maximum number of moves of one resource. If a kind has more, several resources of the kind share them. */
const MOST_MOVES = 20;

/** The moves that give each attribute, one after the other, all its values except the first. */
function changesOf({ values }: Sample): Move[] {
  return Object.entries(values).flatMap(([attribute, [, ...others]]) =>
    others.map((value) => ({ attribute, value })),
  );
}

/**
 * The steps that make these moves of the resource one after the other. Moves to a value that it has already
 * are left out.
 */
function stepsOf(sample: Sample, moves: readonly Move[]): Step[] {
  let body = firstBody(sample);
  const steps: Step[] = [];
  for (const move of moves) {
    const { attribute } = move;
    const { [attribute]: before, ...others } = body;
    const isRemoval = 'isRemoval' in move;
    if (!isRemoval && JSON.stringify(move.value) === JSON.stringify(before)) continue;
    body = isRemoval ? others : { ...body, [attribute]: move.value };
    steps.push({ sample, attribute, body, isRemoval });
  }
  return steps;
}

/**
 * The steps for each resource of a sample. They give each attribute each of its further values, and then
 * remove it where that is allowed. One resource loses everything that can be removed. If further resources
 * are needed, the second is named `all_2`.
 */
function queuesOf(sample: Sample): Step[][] {
  const removals = removable(sample).map((attribute) => ({ attribute, isRemoval: true as const }));
  const changes = changesOf(sample);
  const parts: Move[][] = [[...changes.splice(0, Math.max(0, MOST_MOVES - removals.length)), ...removals]];
  while (changes.length > 0) parts.push(changes.splice(0, MOST_MOVES));
  return parts.map((moves, index) =>
    stepsOf(index === 0 ? sample : { ...sample, name: `${sample.name}_${index + 1}` }, moves),
  );
}

function removable({ kind, values }: Sample): string[] {
  const { attributes, blocks } = DEFINITIONS[kind as ResourceKind];
  // A component needs its monitor, and a page with a password needs the password.
  const needed = ['monitor_id'];
  return Object.keys(values).filter((name) => {
    if (needed.includes(name)) return false;
    const presence = attributes[name]?.presence;
    return presence === undefined ? blocks[name]?.nesting === 'list' : presence !== 'required';
  });
}

function configurationOf(bodies: ReadonlyMap<Sample, Body>): Configuration {
  const resource: Record<string, Record<string, Body>> = {};
  for (const [{ kind, name }, body] of bodies) resource[kind] = { ...resource[kind], [name]: body };
  return { resource };
}

const addressOf = ({ kind, name }: Sample) => `${kind}.${name}`;

/** Path of the API to a resource of the state. */
function pathOf(address: string, { id, page_id: page }: Readonly<Record<string, unknown>>): string {
  const collections: Record<string, string> = {
    svc_notification: '/v1/notifications',
    svc_status_page: '/v1/status-pages',
    svc_status_page_component: `/v1/status-pages/${page}/components`,
    svc_status_page_component_group: `/v1/status-pages/${page}/component-groups`,
  };
  return `${collections[address.split('.')[0] ?? ''] ?? '/v1/monitors'}/${id}`;
}

let api: RunningApi;
beforeAll(async () => {
  api = await startApiWithoutLimit();
});
afterAll(() => api.dispose());

/** Expects the values that a step set in the state and in the API. Sets are compared without order. */
async function expectStored(state: State, step: Step) {
  const address = addressOf(step.sample);
  const attributes = state[address] ?? {};
  const { body } = await api.call('GET', pathOf(address, attributes));
  const answered = (body as Record<string, unknown>)[step.attribute];
  const stored = attributes[step.attribute];
  const { kind } = step.sample;
  const definition = DEFINITIONS[kind as ResourceKind];
  const attribute = definition.attributes[step.attribute];
  const expected = step.isRemoval
    ? attribute === undefined
      ? []
      : (attribute.default ?? null)
    : step.body[step.attribute];
  const isReference = JSON.stringify(expected).includes('${');
  if (!isReference)
    expect(comparable(stored), `${address}.${step.attribute} in the state`).toEqual(comparable(expected));
  // The API has one form for an empty and an absent set of regions, and it has a channel's block as an
  // object, not a list.
  const single =
    definition.blocks[step.attribute]?.nesting === 'single' && Array.isArray(stored) ? stored[0] : stored;
  expect(comparable(answered), `${address}.${step.attribute} in the API`).toEqual(comparable(single));
}

function comparable(value: unknown): unknown {
  if (Array.isArray(value)) {
    if (value.length === 0) return null;
    const members = value.map(comparable);
    return members.every((each) => typeof each === 'string') ? members.toSorted() : members;
  }
  if (typeof value !== 'object' || value === null) return value ?? null;
  const entries = Object.entries(value).map(([name, member]) => [name, comparable(member)] as const);
  return Object.fromEntries(entries.filter(([, member]) => member !== null));
}

test('the samples have every attribute and block of every kind', () => {
  const has = (kind: string, name: string) =>
    SAMPLES.some((sample) => sample.kind === kind && name in sample.values);
  const missing = RESOURCE_KINDS.flatMap((kind) => {
    const { attributes, blocks } = DEFINITIONS[kind];
    const settable = Object.keys(attributes).filter((name) => attributes[name]?.presence !== 'computed');
    return [...settable, ...Object.keys(blocks)]
      .filter((name) => !has(kind, name))
      .map((name) => `${kind}.${name}`);
  });
  expect(missing).toEqual([]);
});

describeTerraform('the life of every resource', (terraform) => {
  let workspace: TerraformWorkspace;
  const queues = SAMPLES.flatMap(queuesOf);
  const resources = new Set([...SAMPLES, ...queues.flatMap((steps) => steps.map(({ sample }) => sample))]);
  const bodies = new Map([...resources].map((sample) => [sample, firstBody(sample)]));

  beforeAll(async () => {
    workspace = await terraform.workspace(providerFor(api));
  });
  afterAll(() => workspace.dispose());

  test('after the creation, the plan is empty', async () => {
    await workspace.configure(configurationOf(bodies));
    expect(await workspace.validate()).toEqual([]);
    await applyForGood(workspace, configurationOf(bodies));
    expect(Object.keys(await workspace.state()).toSorted()).toEqual([...resources].map(addressOf).toSorted());
  });

  test('each attribute is changed in place, then removed', async () => {
    const before = await workspace.state();
    for (let turn = 0; queues.some((queue) => turn < queue.length); turn += 1) {
      const steps = queues.flatMap((queue) => queue[turn] ?? []);
      for (const { sample, body } of steps) bodies.set(sample, body);
      const said = steps.map(({ sample, attribute }) => `${addressOf(sample)}.${attribute}`).join(', ');
      await applyForGood(workspace, configurationOf(bodies), said);
      const state = await workspace.state();
      await Promise.all(steps.map((step) => expectStored(state, step)));
    }
    const after = await workspace.state();
    const replaced = Object.keys(before).filter((address) => before[address]?.id !== after[address]?.id);
    expect(replaced).toEqual(['svc_status_page_component_group.all']);
  });

  test('after imports by command and by block, the plan is empty', async () => {
    const first = new Map(SAMPLES.map((sample) => [sample, firstBody(sample)]));
    await apply(workspace, configurationOf(first));
    const state = await workspace.state();
    const idOf = (address: string) => {
      const { id, page_id: page } = state[address] ?? {};
      return page === undefined ? String(id) : `${page}/${id}`;
    };
    const byBlock = await terraform.workspace(providerFor(api));
    const blocks = SAMPLES.map((sample) => ({ to: addressOf(sample), id: idOf(addressOf(sample)) }));
    await byBlock.configure({ ...configurationOf(first), import: blocks });
    const changes = await changesIn(byBlock);
    expect(changes.filter(({ action }) => action !== 'import')).toEqual([]);
    expect(changes).toHaveLength(SAMPLES.length);
    await apply(byBlock);
    await expectNothingToDo(byBlock);
    await byBlock.dispose();

    const byCommand = await terraform.workspace(providerFor(api));
    await byCommand.configure(configurationOf(first));
    const oneOfEachKind = RESOURCE_KINDS.map((kind) => SAMPLES.find((sample) => sample.kind === kind)!);
    for (const sample of oneOfEachKind) {
      const diagnostics = await byCommand.import(addressOf(sample), idOf(addressOf(sample)));
      expect(errorsOf({ diagnostics })).toEqual([]);
    }
    const only = new Map(
      oneOfEachKind.map((sample) => [sample, withoutReferences(firstBody(sample), state)]),
    );
    await byCommand.configure(configurationOf(only));
    await expectNothingToDo(byCommand);
    await byCommand.dispose();
  });

  test('after the destruction, nothing is left in the API', async () => {
    await destroy(workspace);
    for (const path of ['/v1/monitors', '/v1/notifications', '/v1/status-pages']) {
      expect((await api.call('GET', path)).body).toMatchObject({ total: 0 });
    }
  });
});

/** Replaces references by the ids that the state has for them. */
function withoutReferences(body: Body, state: State): Body {
  const text = JSON.stringify(body).replace(/\$\{(\w+\.\w+)\.id\}/g, (_whole, address: string) =>
    String(state[address]?.id),
  );
  return JSON.parse(text) as Body;
}
