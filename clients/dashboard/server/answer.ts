import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { isNotFound } from '../../../kubernetes/errors.ts';
import { NotThere, sentenceOf } from '../../cli/failure.ts';
import type { Fault, Login } from '../contract/requests.ts';
import type { Assets } from './assets.ts';
import { safeHeaders, type Refusal } from './refusal.ts';
import type { Stream } from './stream.ts';

/** What one user is answered with. */
export interface Answers {
  /** By the first word of the path below `/api/`: answers a GET of the words behind it. */
  read: Readonly<Record<string, (segments: string[]) => Promise<unknown>>>;
  /** Answers `POST /api/actions`. Throws `Failure` for what is refused. */
  act: (request: unknown) => Promise<unknown>;
  stream: Stream;
}

/** A request that a door has admitted, for a user that the door knows. */
export interface Admitted {
  /** Throws `Failure` if there are no answers for this user now. */
  answers: () => Promise<Answers>;
}

/** Judges each request by itself, before anything else is done for it: two users may share a connection. */
export interface Door {
  /** `path`: without the query. */
  admit: (request: IncomingMessage, path: string) => Refusal | Admitted;
  /** Returns the cookie to set for this token, null if it is not right. Without this, nobody logs in here. */
  login?: (token: unknown) => string | null;
}

/** The files of the page, which are the same for all. */
export type PageFiles = Pick<Assets, 'read' | 'index' | 'inlineScripts'>;

/** A request that cannot be answered now, whatever it is. */
export class NotNow extends Error {
  readonly status: 403 | 503;

  constructor(status: 403 | 503, sentence: string) {
    super(sentence);
    this.status = status;
  }
}

export const LOGIN = '/api/login';
const MOST_BYTES = 65_536;

/** Returns what answers all that a door admits. */
export async function answering(files: PageFiles): Promise<(door: Door) => RequestListener> {
  const headers = safeHeaders(await files.inlineScripts());
  return (door) => (request, response) => {
    void answer({ request, response, door, files }, headers).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else send(response, error instanceof NotNow ? error.status : 500, faultOf(error));
    });
  };
}

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  door: Door;
  files: PageFiles;
}

async function answer(exchange: Exchange, headers: Record<string, string>): Promise<void> {
  const { request, response, door, files } = exchange;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  const [path = '/'] = (request.url ?? '/').split('?');
  const admitted = door.admit(request, path);
  if ('sentence' in admitted) return send(response, admitted.status, faultOf(admitted.sentence));
  if (!path.startsWith('/api/')) return sendPage(response, files, path);
  if (request.method === 'POST') return post(exchange, path, admitted);
  const [what = '', ...segments] = path.slice('/api/'.length).split('/').map(decoded);
  const { read, stream } = await admitted.answers();
  if (path === '/api/stream') return stream.attach(response);
  const reading = Object.hasOwn(read, what) ? read[what] : undefined;
  if (reading === undefined) return send(response, 404, noSuch(path));
  await replied(response, () => reading(segments));
}

async function post({ request, response, door }: Exchange, path: string, { answers }: Admitted): Promise<void> {
  const body = await bodyOf(request);
  if (body === undefined) return send(response, 400, faultOf('the request is not JSON, or too long'));
  if (path === LOGIN && door.login !== undefined) {
    const cookie = door.login((body as Partial<Login>)?.token);
    if (cookie === null) return send(response, 401, faultOf('this is the token of another start of the dashboard'));
    response.writeHead(204, { 'Set-Cookie': cookie }).end();
    return;
  }
  if (path !== '/api/actions') return send(response, 404, noSuch(path));
  const { act } = await answers();
  await replied(response, () => act(body));
}

const faultOf = (error: unknown): Fault => ({ ok: false, sentence: sentenceOf(error) });

const noSuch = (path: string): Fault => faultOf(`there is no ${path}`);

const decoded = (segment: string): string => {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
};

/** Sends what it resolves to, or the sentence that a command would print for its error. */
async function replied(response: ServerResponse, read: () => Promise<unknown>): Promise<void> {
  try {
    send(response, 200, await read());
  } catch (error) {
    send(response, isNotFound(error) || error instanceof NotThere ? 404 : 409, faultOf(error));
  }
}

async function sendPage(response: ServerResponse, files: PageFiles, path: string): Promise<void> {
  const asset = await (path === '/' ? files.index() : files.read(path));
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
