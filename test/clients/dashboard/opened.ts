import { request, type IncomingMessage } from 'node:http';
import type { Message, Session as SeenSession } from '../../../clients/dashboard/contract/messages.ts';
import type { ActionRequest, ActionResult } from '../../../clients/dashboard/contract/requests.ts';
import { startDashboard, type DashboardOptions } from '../../../clients/dashboard/dashboard.ts';
import { Session } from '../../../clients/session/session.ts';
import { Viewer } from './viewer.ts';

/** What a browser knows by the stream. */
export class Followed {
  readonly viewer = new Viewer();
  session: SeenSession | undefined;
  isSynced = false;
  isEnded = false;

  listen(response: IncomingMessage): this {
    let rest = '';
    response.on('close', () => (this.isEnded = true));
    response.setEncoding('utf8');
    response.on('error', () => {});
    response.on('data', (chunk: string) => {
      const events = (rest + chunk).split('\n\n');
      rest = events.pop()!;
      for (const event of events) if (event.includes('data: ')) this.#take(event);
    });
    return this;
  }

  #take(event: string): void {
    const message = JSON.parse(event.slice(event.indexOf('data: ') + 6)) as Message;
    if (message.type === 'session') this.session = message;
    if (message.type !== 'delta') return;
    this.isSynced = message.isSynced;
    this.viewer.delta(message);
  }
}

/** A dashboard that runs, and a browser that shows it. */
export class Opened extends Followed {
  readonly #url: URL;
  readonly #end: () => Promise<void>;
  #cookie = '';

  private constructor(url: string, end: () => Promise<void>) {
    super();
    this.#url = new URL(url);
    this.#end = end;
  }

  static async start(kubeconfig: string, options: Partial<DashboardOptions> = {}): Promise<Opened> {
    const session = new Session({ kubeconfig, cluster: 'default' });
    const running = await startDashboard(session, { namespace: undefined, port: 0, isReadOnly: false, ...options });
    return Opened.at(running.url, async () => {
      await running.close();
      await session.close();
    });
  }

  /** Opens the address that the command printed. */
  static async at(url: string, end: () => Promise<void> = () => Promise.resolve()): Promise<Opened> {
    const opened = new Opened(url, end);
    const token = opened.#url.hash.slice('#token='.length);
    const { headers } = await opened.#ask('POST', '/api/login', { token });
    opened.#cookie = headers['set-cookie']![0]!.split(';')[0]!;
    opened.listen(await opened.#ask('GET', '/api/stream'));
    return opened;
  }

  async get<T>(path: string): Promise<T> {
    return JSON.parse(await textOf(await this.#ask('GET', path))) as T;
  }

  async act(asked: ActionRequest): Promise<ActionResult> {
    return JSON.parse(await textOf(await this.#ask('POST', '/api/actions', asked))) as ActionResult;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end();
  }

  #ask(method: string, path: string, body?: unknown): Promise<IncomingMessage> {
    const answered = Promise.withResolvers<IncomingMessage>();
    const { host, hostname, port } = this.#url;
    const headers = { Origin: `http://${host}`, 'Content-Type': 'application/json', Cookie: this.#cookie };
    request({ hostname, port, method, path, headers }, answered.resolve)
      .on('error', answered.reject)
      .end(body === undefined ? undefined : JSON.stringify(body));
    return answered.promise;
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
