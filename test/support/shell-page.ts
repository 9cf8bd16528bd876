import { execFile } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { endServer, listenOnLoopback } from './loopback-server.ts';

const run = promisify(execFile);

/** The blocks of shell commands of a page, in their order. */
export function shellBlocks(markdown: string): string[] {
  return [...markdown.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block);
}

/**
 * A shell for the commands of a page. A program that calls `onCall` replaces what a test cannot have
 * (systemd, other machines).
 */
export class PageShell {
  readonly #folder: string;
  readonly #environment: Record<string, string>;
  #exports = '';

  private constructor(folder: string, environment: Record<string, string>) {
    this.#folder = folder;
    this.#environment = environment;
  }

  /**
   * @param programs texts of scripts by the name of the program
   * @param onCall gets the arguments of `call …` in a script, which waits for it
   * @returns the shell, and a function that closes it
   */
  static async open(
    folder: string,
    environment: Record<string, string>,
    programs: Readonly<Record<string, string>>,
    onCall: (args: readonly string[]) => Promise<void>,
  ): Promise<{ shell: PageShell; close(): Promise<void> }> {
    const server = createServer((request, response) => {
      const args = (request.url ?? '/').slice(1).split('/').map(decodeURIComponent);
      onCall(args).then(
        () => response.end(),
        (error: unknown) => {
          response.statusCode = 500;
          response.end(String(error));
        },
      );
    });
    const port = await listenOnLoopback(server);
    const bin = join(folder, 'bin');
    await mkdir(bin, { recursive: true });
    const call = `const a = process.argv.slice(1).map(encodeURIComponent).join('/');
const answer = await fetch('http://127.0.0.1:${port}/' + a);
if (!answer.ok) { console.error(await answer.text()); process.exit(1); }`;
    const all = {
      ...programs,
      call: `#!/bin/sh\nexec '${process.execPath}' --input-type=module -e "${call}" -- "$@"\n`,
    };
    for (const [name, text] of Object.entries(all)) {
      await writeFile(join(bin, name), text);
      await chmod(join(bin, name), 0o755);
    }
    const PATH = `${bin}:${environment.PATH ?? process.env.PATH ?? ''}`;
    return {
      shell: new PageShell(folder, { ...environment, PATH }),
      close: () => endServer(server),
    };
  }

  /**
   * Runs a block. Rejects with its output when a command fails. Exported variables stay for the next blocks.
   */
  async run(block: string): Promise<string> {
    const script = `set -euo pipefail\n${this.#exports}${block}`;
    for (const [line] of block.matchAll(/^export .*$/gm)) this.#exports += `${line}\n`;
    const { stdout, stderr } = await run('bash', ['-c', script], {
      cwd: this.#folder,
      env: this.#environment,
    });
    return `${stdout}${stderr}`;
  }
}
