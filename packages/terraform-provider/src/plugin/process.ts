import { Console } from 'node:console';
import { setFlagsFromString } from 'node:v8';
import { SvcError } from '@svc/shared/errors.ts';
import type { Provider } from '../provider.ts';
import { chooseAddress, type PluginAddress } from './address.ts';
import { ProviderCalls } from './calls.ts';
import { describeError } from './diagnostics.ts';
import { clientCertificateOf, handshakeLine, reattachValue } from './handshake.ts';
import { createPluginLog, framesOf, type PluginLog, panicText } from './log.ts';
import { watchParent } from './parent.ts';
import { PluginServer } from './server.ts';

export type PluginParts = {
  /** The provider's address, as Terraform resolves it: `registry.terraform.io/svc/svc`. */
  readonly address: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /**
   * Whether the process serves any number of commands until it gets a signal, instead of only the command
   * that started it.
   */
  readonly isDebug: boolean;
  /** Loads the provider, after the handshake. In debug mode it is called again after each stop. */
  loadProvider(log: PluginLog): Promise<Provider>;
};

/** Time for open calls after a signal, ms. After a stop, each call has a shorter deadline of its own. */
const SIGNAL_LIMIT_MS = 60_000;

/**
 * Time for open calls after Shutdown, ms. Terraform kills the process 2 s
 * after Shutdown. If Terraform itself has ended, no call needs an answer.
 */
const SHUTDOWN_LIMIT_MS = 1_500;

/** Time to send the last answers after a crash, ms. */
const CRASH_LIMIT_MS = 500;

/**
 * Serves a provider until this process ends. From this call on,
 * only Terraform's handshake may be written to standard output.
 */
export async function servePlugin(parts: PluginParts): Promise<void> {
  // A thousand objects leave much garbage in a short time. With the young generation at its initial size the
  // process stays at 120 to 130 MB instead of 180 (plan of 1,000 monitors), for the same CPU time.
  setFlagsFromString('--semi-space-growth-factor=1');
  const plugin = new PluginProcess(parts);
  await plugin.start();
}

class PluginProcess {
  readonly #parts: PluginParts;
  readonly #log = createPluginLog((line) => process.stderr.write(line));
  readonly #address: PluginAddress;
  readonly #server: PluginServer;
  #provider: Promise<Provider> | null = null;
  #isEnding = false;

  constructor(parts: PluginParts) {
    this.#parts = parts;
    const clientCertificate = parts.isDebug ? null : clientCertificateOf(parts.environment);
    this.#address = chooseAddress({ hasClientCertificate: clientCertificate !== null });
    this.#server = new PluginServer({
      clientCertificate,
      calls: new ProviderCalls({
        load: () => this.#load(),
        log: this.#log,
        // A stopped provider makes no more requests, so the next
        // command of a debugging session needs a new provider.
        onStopped: () => {
          if (parts.isDebug) this.#provider = null;
        },
      }),
      onShutdown: () => {
        if (!parts.isDebug) this.#end('Terraform is done', SHUTDOWN_LIMIT_MS);
      },
    });
  }

  /** Resolves when the address was written for Terraform. */
  async start(): Promise<void> {
    this.#guardStreams();
    this.#catchEnds();
    const port = await this.#server.listen(this.#address.target);
    const listening = { network: this.#address.network, address: this.#address.address(port) };
    if (this.#parts.isDebug) {
      const value = reattachValue(this.#parts.address, listening, process.pid);
      process.stdout.write(`${debugText(value)}\n`);
    } else {
      process.stdout.write(handshakeLine(listening, this.#server.certificate?.der ?? null));
    }
    // The provider loads while Terraform connects. If it fails to load, each call reports the error.
    this.#load().catch(() => {});
  }

  #load(): Promise<Provider> {
    this.#provider ??= this.#parts.loadProvider(this.#log);
    return this.#provider;
  }

  /**
   * Keeps standard output for the handshake alone. A reader that closes the pipe must not crash the process.
   */
  #guardStreams(): void {
    globalThis.console = new Console(process.stderr, process.stderr);
    for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  }

  #catchEnds(): void {
    const { isDebug } = this.#parts;
    process.on('exit', () => this.#address.remove());
    process.on('SIGTERM', () => this.#end('SIGTERM', SIGNAL_LIMIT_MS));
    process.on('SIGHUP', () => this.#end('SIGHUP', SIGNAL_LIMIT_MS));
    // Ctrl-C also reaches Terraform, which then decides what this process does.
    process.on('SIGINT', () => isDebug && this.#end('SIGINT', SIGNAL_LIMIT_MS));
    process.on('uncaughtException', (error) => this.#crash(error));
    process.on('unhandledRejection', (error) => this.#crash(error));
    if (!isDebug) watchParent(() => this.#end('Terraform is gone', SHUTDOWN_LIMIT_MS));
  }

  #end(why: string, limitMs: number): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.#log('debug', 'the provider is ending', { why, open_calls: this.#server.openCalls.count });
    // A provider that failed to load has nothing to stop, and each call has reported the failure.
    this.#provider?.then((provider) => provider.stop()).catch(() => {});
    void this.#server.stop(limitMs).finally(() => process.exit(0));
  }

  #crash(error: unknown): void {
    this.#log('error', 'the provider crashed', { error: describeError(error), frames: framesOf(error) });
    this.#server.openCalls.fail(new SvcError('call-failed', `the provider crashed: ${describeError(error)}`));
    process.stderr.write(panicText(error));
    setTimeout(() => process.exit(2), CRASH_LIMIT_MS);
    void this.#server.stop(CRASH_LIMIT_MS).finally(() => process.exit(2));
  }
}

function debugText(value: string): string {
  return [
    'The provider serves Terraform until it gets SIGINT or SIGTERM. In another shell:',
    '',
    `export TF_REATTACH_PROVIDERS='${value}'`,
  ].join('\n');
}
