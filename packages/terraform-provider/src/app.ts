import { VERSION } from '@svc/shared/version.ts';
import { runPlugin } from './plugin/command.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Serves the svc provider to the Terraform that started this process. */
export function runProvider(args: readonly string[], environment: Environment): Promise<void> {
  return runPlugin({
    args,
    environment,
    name: 'terraform-provider-svc',
    version: VERSION,
    address: 'registry.terraform.io/svc/svc',
    // The provider is loaded late: Terraform waits for the
    // handshake, and the handshake does not need the provider.
    loadProvider: async (log) => {
      const { svcProvider } = await import('./svc-provider.ts');
      return svcProvider({
        environment,
        version: VERSION,
        onRetry: (retry) => log('warn', 'retrying a request to the API', retry),
      });
    },
  });
}
