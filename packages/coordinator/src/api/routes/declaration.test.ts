import { afterEach, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../../test/support/api.ts';
import { DECLARED_FILE } from '../../../../../test/support/configured-store.ts';
import { addWorkspace } from '../../../../../test/support/store-rows.ts';
import type { DeclaredFileState } from '../api-parts.ts';

let api: RunningApi | null = null;
afterEach(async () => {
  await api?.dispose();
  api = null;
});

const place = (line: number) => ({ file: 'svc.yaml', line, column: 3, message: `name: is wrong in ${line}` });

const APPLIED = { appliedAt: 5, digest: 'ab', resources: 2, errors: [], warnings: [], waiting: null };

/** Returns the answer to the operator if the declared file has this state. */
async function answered(state: Omit<DeclaredFileState, 'workspaceId'> | null, more: object = {}) {
  let workspaceId = 0;
  api = await startApi({
    declaration: () => (state === null ? null : { ...state, workspaceId }),
    ...more,
  });
  workspaceId = api.workspaceId;
  return api.call('GET', '/v1/declaration');
}

describe('the state of the declared file', () => {
  test('says that there is none', async () => {
    const { body } = await answered(APPLIED, { declaredFile: undefined });
    expect(body).toMatchObject({ file: null, state: 'none', applied_at: null, errors: [] });
  });

  test('says that it was not read yet', async () => {
    expect((await answered(null)).body).toMatchObject({ file: null, state: 'unread' });
  });

  test('says that it was read for the first time and is not applied', async () => {
    const { body } = await answered({ ...APPLIED, appliedAt: null });
    expect(body).toMatchObject({ file: DECLARED_FILE, state: 'unread' });
  });

  test('says that it is applied, and which parts have no effect', async () => {
    const { body } = await answered({ ...APPLIED, warnings: [place(4)] });
    expect(body).toEqual({
      file: DECLARED_FILE,
      state: 'applied',
      applied_at: 5,
      digest: 'ab',
      resources: 2,
      error_count: 0,
      errors: [],
      warning_count: 1,
      warnings: [place(4)],
      waiting: null,
    });
  });

  test('says that it is refused, with its first errors', async () => {
    const errors = Array.from({ length: 300 }, (_, index) => place(index + 1));
    const { body } = await answered({ ...APPLIED, errors });
    expect(body).toMatchObject({ state: 'refused', applied_at: 5, error_count: 300 });
    expect((body as { errors: unknown[] }).errors).toEqual(errors.slice(0, 200));
  });

  test('says that it waits for the database', async () => {
    const { body } = await answered({ ...APPLIED, waiting: { reason: 'disk full', tries: 2, nextAt: 9 } });
    expect(body).toMatchObject({
      state: 'waiting',
      waiting: { reason: 'disk full', tries: 2, next_at: 9 },
    });
  });

  test('is not shown to another workspace', async () => {
    await answered({ ...APPLIED, errors: [place(1)] });
    if (api === null) throw new TypeError('no API');
    const other = await addWorkspace(api.store, 'other');
    const { secret } = await api.tokens.create({ workspaceId: other, name: 'ci', scope: 'read' }, 0);
    const { body } = await api.call('GET', '/v1/declaration', undefined, {
      authorization: `Bearer ${secret.reveal()}`,
    });
    expect(body).toMatchObject({ file: null, state: 'none', errors: [] });
  });
});
