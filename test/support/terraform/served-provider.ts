import { ProviderCalls } from '@svc/terraform-provider/plugin/calls.ts';
import { PluginServer } from '@svc/terraform-provider/plugin/server.ts';
import { svcProvider } from '@svc/terraform-provider/svc-provider.ts';
import { clientIdentity } from './client-identity.ts';
import { ProtocolClient } from './protocol-client.ts';

/**
 * Serves the provider of this checkout behind its gRPC
 * server, in this process. The server ends with its client.
 */
export async function servedProvider(): Promise<ProtocolClient> {
  const client = clientIdentity();
  const ended = Promise.withResolvers<void>();
  const provider = svcProvider({ environment: {}, version: '0.0.0-test' });
  const server = new PluginServer({
    calls: new ProviderCalls({ load: async () => provider, log: () => {}, onStopped: () => {} }),
    clientCertificate: client.certificate,
    onShutdown: () => void server.stop(0).then(ended.resolve, ended.reject),
  });
  const port = await server.listen('127.0.0.1:0');
  const serverCertificate = server.certificate?.certificate ?? '';
  return new ProtocolClient({
    target: `127.0.0.1:${port}`,
    serverCertificate,
    client,
    ended: ended.promise,
  });
}
