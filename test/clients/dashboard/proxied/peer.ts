import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { request, Agent } from 'node:https';
import type { Socket } from 'node:net';
import type { Issued } from './credentials.ts';

export const ORIGIN = 'https://drover.example.com';
/** The name in the certificate of a dashboard; the name of the page's host is that of the proxy. */
export const SERVER = 'drover-dashboard';

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
  socket: Socket;
}

interface Asked {
  method?: string;
  /** Lines beside those of a browser on the page: a list is a line for each. */
  headers?: Record<string, string | string[] | undefined>;
  body?: unknown;
}

/** Whoever connects to a dashboard: a proxy, or another that says that it is one. */
export class Peer {
  readonly #port: number;
  readonly #agent: Agent;

  /** `connections`: how many it keeps at once. */
  constructor(port: number, ca: string, as: Issued | undefined, connections = Infinity) {
    this.#port = port;
    this.#agent = new Agent({ ca, ...as, keepAlive: true, maxSockets: connections, servername: SERVER });
  }

  close(): void {
    this.#agent.destroy();
  }

  async ask(path: string, asked: Asked = {}): Promise<Answer> {
    const response = await this.open(path, asked);
    const chunks: Buffer[] = [];
    const { socket } = response;
    for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString('utf8');
    return { status: response.statusCode!, headers: response.headers, body, socket };
  }

  /** Resolves once the answer begins, as that of a stream does. */
  open(path: string, { method = 'GET', headers = {}, body }: Asked = {}): Promise<IncomingMessage> {
    const answered = Promise.withResolvers<IncomingMessage>();
    const browser = { host: new URL(ORIGIN).host, origin: ORIGIN, 'content-type': 'application/json' };
    const all = Object.entries({ ...browser, ...headers }).filter(([, value]) => value !== undefined);
    const options = { host: '127.0.0.1', port: this.#port, method, path, agent: this.#agent };
    request({ ...options, headers: Object.fromEntries(all) as Record<string, string> }, answered.resolve)
      .on('error', answered.reject)
      .end(body === undefined ? undefined : JSON.stringify(body));
    return answered.promise;
  }
}

/** What a proxy says of its user. */
export const of = (user: string, ...groups: string[]): Record<string, string> => ({
  'X-Forwarded-User': user,
  ...(groups.length === 0 ? {} : { 'X-Forwarded-Groups': groups.join(',') }),
});
