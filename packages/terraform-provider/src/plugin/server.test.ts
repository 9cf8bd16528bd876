import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createSecureContext } from 'node:tls';
import { Client, credentials, type ServiceError, status } from '@grpc/grpc-js';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { clientIdentity, type Identity } from '../../../../test/support/terraform/client-identity.ts';
import {
  outcome,
  type Script,
  scriptedProvider,
  THING,
} from '../../../../test/support/terraform/scripted-provider.ts';
import { ProviderCalls } from './calls.ts';
import { decodeValue, encodeValue } from './dynamic-value.ts';
import { decodeMessage, encodeMessage } from './messages.ts';
import { PluginServer } from './server.ts';

const TERRAFORM = clientIdentity();
const NAME = { type_name: 'svc_thing' };

const stops: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

async function serve(script: Script = {}, clientCertificate: string | null = TERRAFORM.certificate) {
  let shutdowns = 0;
  const server = new PluginServer({
    calls: new ProviderCalls({
      load: async () => scriptedProvider(script),
      log: () => {},
      onStopped: () => {},
    }),
    clientCertificate,
    onShutdown: () => {
      shutdowns += 1;
    },
  });
  const port = await server.listen('127.0.0.1:0');
  stops.push(() => server.stop(0));
  return { server, port, shutdowns: () => shutdowns };
}

type Served = Awaited<ReturnType<typeof serve>>;

/** @param identity null: a client that shows no certificate; undefined: plain text */
function clientOf({ server, port }: Served, identity?: Identity | null): Client {
  const secure = () =>
    credentials.createFromSecureContext(
      createSecureContext({
        ca: server.certificate!.certificate,
        allowPartialTrustChain: true,
        ...(identity && { key: identity.key, cert: identity.certificate }),
      }),
    );
  const client = new Client(
    `127.0.0.1:${port}`,
    identity === undefined ? credentials.createInsecure() : secure(),
    {
      'grpc.ssl_target_name_override': 'localhost',
      'grpc.max_receive_message_length': -1,
      'grpc.enable_retries': 0,
    },
  );
  stops.push(() => client.close());
  return client;
}

/** When TLS is refused after the handshake, grpc-js leaves the connection open. */
function destroyConnection(message: unknown): void {
  const { socket } = message as { socket: Socket };
  stops.push(() => void socket.destroy());
}
subscribe('net.client.socket', destroyConnection);
afterAll(() => void unsubscribe('net.client.socket', destroyConnection));

function call(client: Client, path: string, request: Buffer = Buffer.alloc(0)): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const same = (bytes: Buffer) => bytes;
    const done = (error: ServiceError | null, answer?: Buffer) => (error ? reject(error) : resolve(answer!));
    client.makeUnaryRequest(path, same, same, request, done);
  });
}

const SCHEMA = '/tfplugin6.Provider/GetProviderSchema';

describe('who may connect', () => {
  test('Terraform, with the certificate it announced', async () => {
    const served = await serve();
    const answer = await call(clientOf(served, TERRAFORM), SCHEMA);
    expect(Object.keys(decodeMessage('SchemaResponse', answer).resource_schemas!)).toEqual(['svc_thing']);
  });

  test.each([
    ['another certificate', () => clientIdentity()],
    ['no certificate', () => null],
    ['plain text', () => undefined],
  ])('not a client with %s', async (_, identity) => {
    const served = await serve();
    await expect(call(clientOf(served, identity()), SCHEMA)).rejects.toMatchObject({
      code: status.UNAVAILABLE,
    });
  });

  test('any process that reaches the address, if the user turned TLS off', async () => {
    const served = await serve({}, null);
    expect(served.server.certificate).toBeNull();
    expect(await call(clientOf(served), SCHEMA)).not.toHaveLength(0);
  });
});

test.each([
  ['TLS', TERRAFORM.certificate],
  ['plain text', null],
])('garbage on the port (%s) disturbs nobody', async (_, certificate) => {
  const served = await serve({}, certificate);
  for (const garbage of [
    'GET / HTTP/1.1\r\n\r\n',
    '\x16\x03\x01\x00\x05hello',
    `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${'\xff'.repeat(64)}`,
  ]) {
    const socket = connect(served.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.end(Buffer.from(garbage, 'latin1'));
    socket.resume();
    await once(socket, 'close');
  }
  const client = clientOf(served, certificate === null ? undefined : TERRAFORM);
  expect(await call(client, SCHEMA)).not.toHaveLength(0);
});

describe('other calls', () => {
  test.each([
    '/tfplugin6.Provider/GetResourceIdentitySchemas',
    '/tfplugin6.Provider/MoveResourceState',
    '/tfplugin5.GRPCProvider/GetSchema',
    '/plugin.GRPCStdio/StreamStdio',
    '/plugin.GRPCBroker/StartStream',
  ])('%s is unimplemented', async (path) => {
    const client = clientOf(await serve(), TERRAFORM);
    await expect(call(client, path)).rejects.toMatchObject({ code: status.UNIMPLEMENTED });
  });

  test('the server is healthy', async () => {
    const answer = await call(clientOf(await serve(), TERRAFORM), '/grpc.health.v1.Health/Check');
    expect(decodeMessage('HealthResponse', answer)).toEqual({ status: 1 });
  });

  test('Shutdown is answered before the end begins', async () => {
    const served = await serve();
    await call(clientOf(served, TERRAFORM), '/plugin.GRPCController/Shutdown');
    expect(served.shutdowns()).toBe(1);
  });

  test('a request that is no message fails alone', async () => {
    const client = clientOf(await serve(), TERRAFORM);
    const path = '/tfplugin6.Provider/ReadResource';
    await expect(call(client, path, Buffer.from('ffff', 'hex'))).rejects.toMatchObject({
      code: status.INTERNAL,
    });
    expect(await call(client, SCHEMA)).not.toHaveLength(0);
  });
});

const readRequest = (name: string) =>
  encodeMessage('ReadRequest', {
    ...NAME,
    current_state: encodeValue(THING, { id: '1', name }).value,
  });
const nameIn = (answer: Buffer) => decodeValue(THING, decodeMessage('ReadResponse', answer).new_state)?.name;
const READ = '/tfplugin6.Provider/ReadResource';

test("an attribute above gRPC's default limit (4 MiB) is received and sent", async () => {
  const client = clientOf(await serve({ read: async (state) => outcome(state) }), TERRAFORM);
  const large = 'x'.repeat(5_000_000);
  expect(nameIn(await call(client, READ, readRequest(large))) === large).toBe(true);
});

test('calls overlap', async () => {
  const waiting: (() => void)[] = [];
  const served = await serve({
    read: async (state) => {
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        if (waiting.length === 10) for (const each of waiting.reverse()) each();
      });
      return outcome(state);
    },
  });
  const client = clientOf(served, TERRAFORM);
  const names = Array.from({ length: 10 }, (_, index) => `n${index}`);
  const answers = await Promise.all(names.map((name) => call(client, READ, readRequest(name))));
  expect(answers.map(nameIn)).toEqual(names);
  expect(served.server.openCalls.count).toBe(0);
});

describe('the end', () => {
  /** A read that signals when it has begun, and continues on a signal. */
  function slowRead() {
    const begun = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const script: Script = {
      read: async (state) => {
        begun.resolve();
        await goOn.promise;
        return outcome(state);
      },
    };
    return { script, begun: begun.promise, goOn: goOn.resolve };
  }

  test('waits for the open calls', async () => {
    const { script, begun, goOn } = slowRead();
    const served = await serve(script);
    const answer = call(clientOf(served, TERRAFORM), READ, readRequest('a'));
    await begun;
    const stopped = served.server.stop(60_000);
    goOn();
    expect(nameIn(await answer)).toBe('a');
    await stopped;
  });

  test('but not for ever', async () => {
    const { script, begun } = slowRead();
    const served = await serve(script);
    const answer = call(clientOf(served, TERRAFORM), READ, readRequest('a'));
    answer.catch(() => {});
    await begun;
    await served.server.stop(0);
    await expect(answer).rejects.toMatchObject({ details: 'the provider ended before the call was done' });
  });

  test('answers open calls in a crash', async () => {
    const { script, begun, goOn } = slowRead();
    const served = await serve(script);
    const answer = call(clientOf(served, TERRAFORM), READ, readRequest('a'));
    answer.catch(() => {});
    await begun;
    served.server.openCalls.fail(new Error('the provider crashed'));
    await expect(answer).rejects.toMatchObject({ code: status.INTERNAL, details: 'the provider crashed' });
    goOn();
  });
});
