import { runPlugin } from '@svc/terraform-provider/plugin/command.ts';

/** The program that serves the memory provider as Terraform's plug-in, as `main.ts` serves svc. */
void runPlugin({
  args: process.argv.slice(2),
  environment: process.env,
  name: 'terraform-provider-svc',
  version: '0.1.0',
  address: 'registry.terraform.io/svc/svc',
  loadProvider: async () => (await import('./memory-provider.ts')).memoryProvider(),
});
