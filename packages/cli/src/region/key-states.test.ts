import { Secret } from '@svc/shared/secret.ts';
import { connect, nkeyAuthenticator, nkeys } from 'nats';
import { expect, onTestFinished, test } from 'vitest';
import { startNatsServer } from '../../../../test/support/nats-server.ts';
import { connectionsByKey } from './key-states.ts';

test('counts all connections, also of a server that has more than it lists at once', async () => {
  const [system, agent] = [nkeys.createUser(), nkeys.createUser()];
  const users = (pair: typeof system) => `users: [ { nkey: ${pair.getPublicKey()} } ]`;
  const server = await startNatsServer(
    `accounts { A: { ${users(agent)} }, SYS: { ${users(system)} } }\nsystem_account: SYS`,
  );
  onTestFinished(() => server.dispose());
  for (let count = 0; count < 5; count += 1) {
    const connection = await connect({
      servers: server.url,
      authenticator: nkeyAuthenticator(agent.getSeed()),
    });
    onTestFinished(() => connection.close());
  }
  const nkeySeed = new Secret(Buffer.from(system.getSeed()).toString());
  const counts = await connectionsByKey({ url: server.url, name: 'svc region', nkeySeed }, 2);
  expect(counts).toEqual(new Map([[agent.getPublicKey(), 5]]));
});
