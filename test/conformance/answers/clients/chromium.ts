import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client, Observation } from './client.ts';

type Message = {
  id?: number;
  method?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
};

/** Asks by `fetch` from a page of the same origin. An error carries the text of Chromium's network stack. */
export async function startChromium(origin: string): Promise<Client> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-answers-'));
  const child = spawn(
    process.env.CHROMIUM ?? 'chromium',
    [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--no-proxy-server',
      '--remote-debugging-port=0',
      `--user-data-dir=${folder}`,
      'about:blank',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let said = '';
  for await (const bytes of child.stderr) {
    said += bytes;
    if (/DevTools listening on \S+/.test(said)) break;
  }
  const { host } = new URL(/DevTools listening on (\S+)/.exec(said)?.[1] ?? '');
  const version = (await (await fetch(`http://${host}/json/version`)).json()) as { Browser: string };
  const target = await fetch(`http://${host}/json/new?${encodeURIComponent(`${origin}/`)}`, {
    method: 'PUT',
  });
  const { webSocketDebuggerUrl } = (await target.json()) as { webSocketDebuggerUrl: string };
  const page = await Devtools.connect(webSocketDebuggerUrl);
  const loaded = page.event('Page.loadEventFired');
  await page.call('Page.enable');
  await page.call('Network.enable');
  await page.call('Page.navigate', { url: `${origin}/` });
  await loaded;
  return {
    version: version.Browser.replace(/^\w+\//, 'Chromium '),
    ask: (url, { method }) => page.fetch(url, method),
    async close() {
      child.kill();
      await once(child, 'exit');
      rmSync(folder, { recursive: true, maxRetries: 5 });
    },
  };
}

/** As much of the DevTools protocol as one page needs. */
class Devtools {
  readonly #socket: WebSocket;
  readonly #calls = new Map<number, (result: Record<string, unknown>) => void>();
  readonly #events = new Map<string, (params: Record<string, unknown>) => void>();
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => {
      const { id, method, params = {}, result = {} } = JSON.parse(String(data)) as Message;
      if (id !== undefined) this.#calls.get(id)?.(result);
      else if (method !== undefined) this.#events.get(method)?.(params);
    });
  }

  static async connect(url: string): Promise<Devtools> {
    const socket = new WebSocket(url);
    await once(socket, 'open');
    return new Devtools(socket);
  }

  call(method: string, params: Record<string, unknown> = {}): Promise<Record<string, unknown>> {
    this.#lastId += 1;
    const id = this.#lastId;
    this.#socket.send(JSON.stringify({ id, method, params }));
    return new Promise((resolve) => this.#calls.set(id, resolve));
  }

  /** The next event of this name. */
  event(name: string): Promise<Record<string, unknown>> {
    return new Promise((resolve) => this.#events.set(name, resolve));
  }

  async fetch(url: string, method: string): Promise<Observation> {
    await this.call('Network.clearBrowserCookies');
    let failure = '';
    this.#events.set('Network.loadingFailed', ({ errorText }) => {
      failure = String(errorText);
    });
    const expression = `fetch(${JSON.stringify(url)}, { method: ${JSON.stringify(method)}, cache: 'no-store' })
      .then(async (response) => {
        const bytes = new Uint8Array(await response.arrayBuffer());
        return { status: response.status, body: String.fromCharCode(...bytes.subarray(0, 8192)), bytes: bytes.length };
      }).catch((error) => ({ refused: String(error) }))`;
    const { result } = await this.call('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
    });
    const { value } = result as { value: Observation };
    return 'refused' in value && failure !== '' ? { refused: failure } : value;
  }
}
