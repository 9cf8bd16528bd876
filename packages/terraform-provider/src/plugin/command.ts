import { isStartedByTerraform } from './handshake.ts';
import type { PluginParts } from './process.ts';

export type CommandParts = Omit<PluginParts, 'isDebug'> & {
  readonly args: readonly string[];
  /** Name of the executable. */
  readonly name: string;
  readonly version: string;
};

/** Runs the executable of a provider. It serves Terraform, or tells the user why it cannot. */
export async function runPlugin(parts: CommandParts): Promise<void> {
  const { args, environment, name, version, address, loadProvider } = parts;
  if (args.includes('--help')) return say(helpText(name, address));
  if (args.includes('--version')) return say(`${name} ${version}`);
  const isDebug = args.includes('--debug');
  if (!isDebug && !isStartedByTerraform(environment)) {
    process.stderr.write(
      `${name} is a plug-in: Terraform starts it when a configuration uses the provider ${address}.\n` +
        `"${name} --help" explains more.\n`,
    );
    process.exitCode = 1;
    return;
  }
  const { servePlugin } = await import('./process.ts');
  await servePlugin({ address, environment, isDebug, loadProvider });
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function helpText(name: string, address: string): string {
  return `${name}: Terraform provider ${address}

Terraform starts it. By hand it is only called with one of these:

  --debug    Serve until SIGINT or SIGTERM, and print the value of TF_REATTACH_PROVIDERS with which
             any number of terraform commands use this process: no init, no lock file, no TLS.
  --version  Print the version.
  --help     Print this.`;
}
