import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isNotFound } from '../../../kubernetes/errors.ts';
import { Failure, sentenceOf } from '../../cli/failure.ts';
import type { Fault, Login } from '../contract/requests.ts';
import type { Assets } from './assets.ts';
import { Guard, LOGIN, safeHeaders } from './guard.ts';
import type { Stream } from './stream.ts';

/** What the server answers with, beside the files of the page. */
export interface Answers {
  /** By the first word of the path below `/api/`: answers a GET of the words behind it. */
  read: Readonly<Record<string, (words: string[]) => Promise<unknown>>>;
  /** Answers `POST /api/actions`. Throws `Failure` for what is refused. */
  act: (asked: unknown) => Promise<unknown>;
  stream: Stream;
  assets: Pick<Assets, 'read' | 'index' | 'inlineScripts'>;
}

export interface RunningServer {
  port: number;
  /** The address with the token. */
  url: string;
  close: () => Promise<void>;
}

const HOSTS = ['127.0.0.1', '::1'] as const;
const MOST_BYTES = 65_536;
const TRIES = 10;

/** Serves on the loopback addresses alone. `port` 0: any that is free. Throws `Failure` if the port is taken. */
export async function serve(answers: Answers, port: number): Promise<RunningServer> {
  const headers = safeHeaders(await answers.assets.inlineScripts());
  let guard: Guard | undefined;
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    void answer({ request, response, guard: guard!, answers, headers }).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else send(response, 500, { ok: false, sentence: sentenceOf(error) } satisfies Fault);
    });
  };
  const servers = await listenOnBoth(listener, port);
  const taken = (servers[0]!.address() as AddressInfo).port;
  guard = new Guard(taken);
  return {
    port: taken,
    url: `http://127.0.0.1:${taken}/#token=${guard.token}`,
    close: async () => {
      answers.stream.stop();
      await Promise.all(servers.map(ended));
    },
  };
}

/** A machine may have no IPv6. A free port may be taken in it. */
async function listenOnBoth(
  listener: (request: IncomingMessage, response: ServerResponse) => void,
  port: number,
): Promise<Server[]> {
  for (let tries = 1; ; tries++) {
    const first = await listenOn(listener, HOSTS[0], port);
    const taken = (first.address() as AddressInfo).port;
    try {
      return [first, await listenOn(listener, HOSTS[1], taken)];
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT') return [first];
      await ended(first);
      if (port !== 0 || tries === TRIES) throw error;
    }
  }
}

async function listenOn(
  listener: (request: IncomingMessage, response: ServerResponse) => void,
  host: string,
  port: number,
): Promise<Server> {
  const server = createServer({ requestTimeout: 30_000 }, listener);
  const listening = Promise.withResolvers<void>();
  server.once('error', (error: NodeJS.ErrnoException) =>
    listening.reject(
      error.code === 'EADDRINUSE'
        ? new Failure(`port ${port} of ${host} is taken: give another one with --port, or none for a free one`)
        : error,
    ),
  );
  server.listen({ host, port, ipv6Only: true }, listening.resolve);
  await listening.promise;
  return server;
}

async function ended(server: Server): Promise<void> {
  const closed = Promise.withResolvers<void>();
  server.close(() => closed.resolve());
  server.closeAllConnections();
  await closed.promise;
}

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  guard: Guard;
  answers: Answers;
  headers: Record<string, string>;
}

async function answer({ request, response, guard, answers, headers }: Exchange): Promise<void> {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  const method = request.method ?? 'GET';
  const [path = '/'] = (request.url ?? '/').split('?');
  const refusal = guard.refusalOf({ method, path, headers: request.headers });
  if (refusal !== null)
    return send(response, refusal.status, { ok: false, sentence: refusal.sentence } satisfies Fault);
  if (!path.startsWith('/api/')) return sendPage(response, answers, path);
  if (method === 'POST') return post({ request, response, guard, answers, headers }, path);
  if (path === '/api/stream') return answers.stream.attach(response, request.headers['last-event-id']?.toString());
  const [what = '', ...words] = path.slice('/api/'.length).split('/').map(decoded);
  const read = Object.hasOwn(answers.read, what) ? answers.read[what] : undefined;
  if (read === undefined) return send(response, 404, noSuch(path));
  await replied(response, () => read(words));
}

async function post({ request, response, guard, answers }: Exchange, path: string): Promise<void> {
  const body = await bodyOf(request);
  if (body === undefined)
    return send(response, 400, { ok: false, sentence: 'the request is not JSON, or too long' } satisfies Fault);
  if (path === LOGIN) {
    const cookie = guard.login((body as Partial<Login>)?.token);
    if (cookie === null)
      return send(response, 401, { ok: false, sentence: 'this is not the token of this start' } satisfies Fault);
    response.writeHead(204, { 'Set-Cookie': cookie }).end();
    return;
  }
  if (path !== '/api/actions') return send(response, 404, noSuch(path));
  await replied(response, () => answers.act(body));
}

const noSuch = (path: string): Fault => ({ ok: false, sentence: `there is no ${path}` });

const decoded = (word: string): string => {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
};

/** Sends what it resolves to, or the sentence that a command would print for its error. */
async function replied(response: ServerResponse, read: () => Promise<unknown>): Promise<void> {
  try {
    send(response, 200, await read());
  } catch (error) {
    send(response, isNotFound(error) ? 404 : 409, { ok: false, sentence: sentenceOf(error) } satisfies Fault);
  }
}

async function sendPage(response: ServerResponse, { assets }: Answers, path: string): Promise<void> {
  const asset = (await assets.read(path)) ?? (/\.\w+$/.test(path) ? null : await assets.index());
  if (asset === null) return send(response, 404, noSuch(path));
  response.writeHead(200, { 'Content-Type': asset.type }).end(asset.body);
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}

/** Undefined if it is not JSON, or too long. */
async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) return undefined;
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}
