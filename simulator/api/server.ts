import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { KubeError } from '../../kubernetes/errors.ts';
import { Refusal } from '../vm/start-stop-restart.ts';
import { acceptsAnything } from './accepts-anything.ts';
import type { Review } from './admission.ts';
import { discoveryDocuments, GROUP, VMI_ACTIONS, VM_ACTIONS, VERSIONS } from './discovery.ts';
import type { SubresourceCall } from './subresources.ts';

interface ServerOptions extends Handlers {
  port: number;
  cert: Buffer;
  key: Buffer;
}

interface Handlers {
  perform: (call: SubresourceCall) => Promise<void>;
  /** Handlers of the reviews that the API server posts, by path. */
  hooks: ReadonlyMap<string, (review: Review) => Promise<object>>;
}

const PATH = new RegExp(
  `^/apis/${GROUP}/(?:${VERSIONS.join('|')})/namespaces/([^/]+)/(?:(virtualmachines)/([^/]+)/(${VM_ACTIONS.join('|')})` +
    `|(virtualmachineinstances)/([^/]+)/(${VMI_ACTIONS.join('|')}))$`,
);

/**
 * Longer than the 90 seconds for which the API server reuses an idle connection: it may write a call to it until then.
 */
const KEEP_ALIVE_MS = 120_000;

/** Starts an HTTPS server on 127.0.0.1 to which the API server forwards the calls of `subresources.kubevirt.io`. */
export async function serve(options: ServerOptions): Promise<{ port: number; close: () => Promise<void> }> {
  const { cert, key } = options;
  const server = createServer({ cert, key, keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    void answer(options, request, response);
  });
  await listening(server, options.port);
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { port: (server.address() as AddressInfo).port, close };
}

const listening = (server: Server, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });

/** Answers one request as virt-api does; never throws. */
export async function answer(handlers: Handlers, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = new URL(request.url ?? '/', 'https://localhost').pathname;
  try {
    const document = request.method === 'GET' ? discoveryDocuments.get(path) : undefined;
    if (document !== undefined) return send(response, 200, document);
    const hook = request.method === 'POST' ? handlers.hooks.get(path) : undefined;
    if (hook !== undefined) return send(response, 200, await hook(parsed(await text(request)) as Review));
    const call = callOf(path);
    if (call === undefined) throw new Refusal(404, 'the server could not find the requested resource');
    if (request.method !== 'PUT')
      return send(response, 405, failure(call, 405, 'MethodNotAllowed', 'only PUT is allowed'));
    if (!acceptsAnything(request.headers.accept)) return notAcceptable(response);
    try {
      await handlers.perform({ ...call, body: parsed(await text(request)) as Record<string, unknown> });
      response.writeHead(202).end();
    } catch (error) {
      send(response, ...refused(call, error as Error));
    }
  } catch (error) {
    send(response, ...refused(undefined, error as Error));
  }
}

function callOf(path: string): Omit<SubresourceCall, 'body'> | undefined {
  const [, namespace, vms, vm, vmAction, , vmi, vmiAction] = PATH.exec(path) ?? [];
  if (namespace === undefined) return undefined;
  return vms === undefined
    ? { resource: 'virtualmachineinstances', action: vmiAction!, namespace, name: vmi! }
    : { resource: 'virtualmachines', action: vmAction!, namespace, name: vm! };
}

function parsed(body: string): unknown {
  if (body.trim() === '') return {};
  try {
    return JSON.parse(body);
  } catch (error) {
    throw new Refusal(400, `Can not unmarshal Request body to struct, error: ${(error as Error).message}`);
  }
}

function refused(call: Omit<SubresourceCall, 'body'> | undefined, error: Error): [code: number, body: object] {
  if (error instanceof Refusal) {
    const kind = call?.resource.replace(/s$/, '');
    const prefix = error.code === 409 ? `Operation cannot be fulfilled on ${kind}.kubevirt.io "${call?.name}": ` : '';
    const inner = error.code === 500 ? 'Internal error occurred: ' : prefix;
    return [error.code, failure(call, error.code, error.reason, inner + error.message)];
  }
  const { status, reason } = error instanceof KubeError ? error : { status: 500, reason: 'InternalError' };
  const code = status === 409 || status === 404 || status === 429 ? status : 500;
  return [code, failure(call, code, code === status ? reason : 'InternalError', error.message)];
}

const failure = (
  call: Omit<SubresourceCall, 'body'> | undefined,
  code: number,
  reason: string,
  message: string,
): object => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message,
  reason,
  ...(call === undefined
    ? {}
    : { details: { name: call.name, group: 'kubevirt.io', kind: call.resource.replace(/s$/, '') } }),
  code,
});

/** virt-api's message is plain text, not a Status. */
function notAcceptable(response: ServerResponse): void {
  response.writeHead(406, { 'content-type': 'text/plain' }).end('406: Not Acceptable\n\nAvailable representations: ');
}

function send(response: ServerResponse, code: number, body: object): void {
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
