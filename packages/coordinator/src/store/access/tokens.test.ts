import { readFile } from 'node:fs/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ConfiguredStore, configuredStore } from '../../../../../test/support/configured-store.ts';
import { IS_POSTGRES } from '../../../../../test/support/database.ts';
import { rowsOf } from '../../../../../test/support/store-rows.ts';
import { ensureDefaultWorkspace } from '../declaration/workspaces.ts';
import { generateToken, type Token, Tokens } from './tokens.ts';

const NOW = 1_000;
let parts: ConfiguredStore;
let tokens: Tokens;

beforeEach(async () => {
  parts = await configuredStore();
  tokens = await Tokens.load(parts.store);
});
afterEach(() => parts.dispose());

test('a token is found by its secret, also after a restart, until it is revoked', async () => {
  const { workspaceId } = parts;
  const made = await tokens.create({ workspaceId, name: 'ci', scope: 'read' }, NOW);
  const { token } = made;
  const secret = made.secret.reveal();
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

test('the instants of a token are whole milliseconds, even if the clock has fractions', async () => {
  const { workspaceId } = parts;
  const { token } = await tokens.create({ workspaceId, name: 'ci', scope: 'read' }, NOW + 0.5);
  expect(token.createdAt).toBe(NOW);
  await tokens.revoke(workspaceId, token.id, NOW + 1.5);
  expect(await rowsOf(parts.store, 'tokens')).toMatchObject([{ created_at: NOW, revoked_at: NOW + 1 }]);
});

// The files of PostgreSQL belong to its server. Both databases get only the hash of a token.
test.skipIf(IS_POSTGRES)('the file of the database keeps no secret', async () => {
  const made = await tokens.create({ workspaceId: parts.workspaceId, name: 'ci', scope: 'read' }, NOW);
  const secret = made.secret.reveal();
  for (const file of [parts.database.file, `${parts.database.file}-wal`]) {
    expect((await readFile(file)).includes(secret)).toBe(false);
  }
});

test('the operator’s token follows the setting', async () => {
  const { workspaceId } = parts;
  const [first, second] = [generateToken(), generateToken()];
  await tokens.setOperatorTokens(workspaceId, [first], NOW);
  const token = tokens.lookup(first);
  expect(token).toMatchObject({ scope: 'admin', isOperator: true, workspaceId });
  await tokens.setOperatorTokens(workspaceId, [first], NOW);
  expect(tokens.lookup(first)).toEqual(token);

  await tokens.setOperatorTokens(workspaceId, [second, first], NOW);
  expect(tokens.lookup(first)).toEqual(token);
  await tokens.setOperatorTokens(workspaceId, [second], NOW);
  expect(tokens.lookup(first)).toBeNull();
  expect(tokens.lookup(second)).toMatchObject({ isOperator: true });
  expect(tokens.list(workspaceId)).toHaveLength(1);
  expect(await tokens.revoke(workspaceId, tokens.list(workspaceId)[0]?.id ?? 0, NOW)).toBe('operator');
});

test('a token that was made over the API may become the operator’s', async () => {
  const { workspaceId } = parts;
  const secret = (await tokens.create({ workspaceId, name: 'mine', scope: 'read' }, NOW)).secret.reveal();
  await tokens.setOperatorTokens(workspaceId, [secret], NOW);
  expect(tokens.lookup(secret)).toMatchObject({ isOperator: true, scope: 'admin' });
  expect(tokens.list(workspaceId)).toHaveLength(1);
});

test('an operator’s token that was removed from the setting can come back', async () => {
  const { workspaceId } = parts;
  const [first, second] = [generateToken(), generateToken()];
  for (const secrets of [[first], [second], [first]]) {
    await tokens.setOperatorTokens(workspaceId, secrets, NOW);
    expect([first, second].map((secret) => tokens.lookup(secret) !== null)).toEqual([
      secrets.includes(first),
      secrets.includes(second),
    ]);
    expect((await Tokens.load(parts.store)).list(workspaceId)).toEqual(tokens.list(workspaceId));
  }
});

test('with cascade, the tokens that a token made are revoked too, even through one that was already revoked', async () => {
  const { workspaceId } = parts;
  const make = async (createdBy: Token | null) =>
    (await tokens.create({ workspaceId, name: 'a', scope: 'admin', createdBy }, NOW)).token;
  const first = await make(null);
  const second = await make(first);
  const third = await make(second);
  const other = await make(null);
  expect(await tokens.revoke(workspaceId, second.id, NOW)).toBe('revoked');
  expect(tokens.list(workspaceId)).toEqual([first, third, other]);
  expect(await tokens.revoke(workspaceId, first.id, NOW, { cascade: true })).toBe('revoked');
  expect(tokens.list(workspaceId)).toEqual([other]);
  expect((await Tokens.load(parts.store)).list(workspaceId)).toEqual([other]);
});

test('the tokens that a former operator’s token made can be revoked', async () => {
  const { workspaceId } = parts;
  const [first, second] = [generateToken(), generateToken()];
  await tokens.setOperatorTokens(workspaceId, [first], NOW);
  const operator = tokens.lookup(first);
  const { token } = await tokens.create({ workspaceId, name: 'a', scope: 'read', createdBy: operator }, NOW);
  expect(token.createdBy).toEqual({ id: operator?.id, name: 'SVC_API_TOKEN' });
  await tokens.setOperatorTokens(workspaceId, [second], NOW);
  const id = operator?.id ?? 0;
  expect(await tokens.revoke(workspaceId, id, NOW)).toBe('unknown');
  expect(await tokens.revoke(workspaceId, id, NOW, { cascade: true })).toBe('revoked');
  expect(tokens.list(workspaceId).map(({ isOperator }) => isOperator)).toEqual([true]);
});

test('the time of a token’s last use is kept in memory and written at intervals', async () => {
  const { token } = await tokens.create({ workspaceId: parts.workspaceId, name: 'ci', scope: 'read' }, NOW);
  expect(tokens.lastUsedAt(token.id)).toBeNull();
  tokens.noteUse(token.id, NOW + 5.5);
  expect(tokens.lastUsedAt(token.id)).toBe(NOW + 5);
  expect((await Tokens.load(parts.store)).lastUsedAt(token.id)).toBeNull();
  await tokens.saveUses();
  expect((await Tokens.load(parts.store)).lastUsedAt(token.id)).toBe(NOW + 5);
});

test('a reload finds what another coordinator changed, and keeps the objects of unchanged tokens', async () => {
  const { workspaceId, store } = parts;
  const make = async (name: string, createdBy: Token | null = null) =>
    (await tokens.create({ workspaceId, name, scope: 'admin', createdBy }, NOW)).token;
  const [kept, revoked] = [await make('kept'), await make('revoked')];
  const other = await Tokens.load(store);
  await other.revoke(workspaceId, revoked.id, NOW);
  const made = await other.create({ workspaceId, name: 'made', scope: 'read', createdBy: revoked }, NOW);
  other.noteUse(kept.id, NOW + 2);
  await other.saveUses();
  await tokens.reload();
  expect(tokens.lookup(made.secret.reveal())).toEqual(made.token);
  expect([kept, revoked].map((token) => tokens.isRevoked(token))).toEqual([false, true]);
  expect(tokens.lastUsedAt(kept.id)).toBe(NOW + 2);
});

test('a reload forgets no token that is created meanwhile, and brings back no token that is revoked meanwhile', async () => {
  const { workspaceId } = parts;
  for (let time = 0; time < 20; time += 1) {
    const { token } = await tokens.create({ workspaceId, name: 'a', scope: 'read' }, NOW);
    const reading = [tokens.reload(), tokens.reload()];
    const [{ token: made }] = await Promise.all([
      tokens.create({ workspaceId, name: 'b', scope: 'read' }, NOW),
      tokens.revoke(workspaceId, token.id, NOW),
      ...reading,
    ]);
    expect([tokens.find(token.id), tokens.find(made.id)]).toEqual([null, made]);
  }
});

test('the default workspace is made once', async () => {
  expect(await ensureDefaultWorkspace(parts.store, NOW)).toBe(parts.workspaceId);
  expect(await parts.store.read.selectFrom('workspaces').selectAll().execute()).toHaveLength(1);
});
