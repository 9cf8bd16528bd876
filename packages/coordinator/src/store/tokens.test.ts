import { readFile } from 'node:fs/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ConfiguredStore, configuredStore } from '../../../../test/support/configured-store.ts';
import { rowsOf } from '../../../../test/support/store-rows.ts';
import { generateToken, Tokens } from './tokens.ts';
import { ensureDefaultWorkspace } from './workspaces.ts';

const NOW = 1_000;
let parts: ConfiguredStore;
let tokens: Tokens;

beforeEach(async () => {
  parts = await configuredStore();
  tokens = await Tokens.load(parts.store);
});
afterEach(() => parts.dispose());

test('a token made is found by its secret, also after a start, until it is revoked', async () => {
  const { workspaceId } = parts;
  const { token, secret } = await tokens.create({ workspaceId, name: 'ci', scope: 'read' }, NOW);
  expect(tokens.lookup(secret)).toEqual(token);
  expect(tokens.lookup(`${secret}x`)).toBeNull();
  const again = await Tokens.load(parts.store);
  expect(again.lookup(secret)).toEqual(token);
  expect(again.list(workspaceId)).toEqual([token]);

  expect(await tokens.revoke(workspaceId + 1, token.id, NOW)).toBe('unknown');
  expect(await tokens.revoke(workspaceId, token.id, NOW)).toBe('revoked');
  expect(tokens.lookup(secret)).toBeNull();
  expect((await Tokens.load(parts.store)).lookup(secret)).toBeNull();
});

test('its instants are whole milliseconds, whatever the clock says', async () => {
  const { workspaceId } = parts;
  const { token } = await tokens.create({ workspaceId, name: 'ci', scope: 'read' }, NOW + 0.5);
  expect(token.createdAt).toBe(NOW);
  await tokens.revoke(workspaceId, token.id, NOW + 1.5);
  expect(await rowsOf(parts.store, 'tokens')).toMatchObject([{ created_at: NOW, revoked_at: NOW + 1 }]);
});

test('the database keeps no secret', async () => {
  const { secret } = await tokens.create({ workspaceId: parts.workspaceId, name: 'ci', scope: 'read' }, NOW);
  for (const file of [parts.file, `${parts.file}-wal`]) {
    expect((await readFile(file)).includes(secret)).toBe(false);
  }
});

test('the operator’s token follows the setting', async () => {
  const { workspaceId } = parts;
  const [first, second] = [generateToken(), generateToken()];
  const token = await tokens.setOperatorToken(workspaceId, first, NOW);
  expect(token).toMatchObject({ scope: 'write', isOperator: true, workspaceId });
  expect(await tokens.setOperatorToken(workspaceId, first, NOW)).toEqual(token);

  await tokens.setOperatorToken(workspaceId, second, NOW);
  expect(tokens.lookup(first)).toBeNull();
  expect(tokens.lookup(second)).toMatchObject({ isOperator: true });
  expect(tokens.list(workspaceId)).toHaveLength(1);
  expect(await tokens.revoke(workspaceId, tokens.list(workspaceId)[0]?.id ?? 0, NOW)).toBe('operator');
});

test('a token that was made over the API may become the operator’s', async () => {
  const { workspaceId } = parts;
  const { secret } = await tokens.create({ workspaceId, name: 'mine', scope: 'read' }, NOW);
  await tokens.setOperatorToken(workspaceId, secret, NOW);
  expect(tokens.lookup(secret)).toMatchObject({ isOperator: true, scope: 'write' });
  expect(tokens.list(workspaceId)).toHaveLength(1);
});

test('the default workspace is made once', async () => {
  expect(await ensureDefaultWorkspace(parts.store, NOW)).toBe(parts.workspaceId);
  expect(await parts.store.read.selectFrom('workspaces').selectAll().execute()).toHaveLength(1);
});
