import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';
import { describe, expect, onTestFinished, test } from 'vitest';
import { withoutUncheckedRules } from '../../kubernetes/lib/unchecked-rules.ts';
import {
  Transport,
  type HttpRequest,
  type RequestSummary,
  type Ended,
  type TransportOptions,
} from '../../kubernetes/transport.ts';

/** Returns a transport to a server that answers each call so. */
async function transportTo(answer: RequestListener, options: TransportOptions = {}): Promise<Transport> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const config = new KubeConfig();
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  config.loadFromClusterAndUser({ name: 'it', server: address, skipTLSVerify: true }, { name: 'it' });
  const transport = new Transport(config, options);
  onTestFinished(async () => {
    await transport.close();
    server.close();
  });
  return transport;
}

/** Returns how a server that answers 503 with this `Retry-After` has a call end. */
async function refusedWith(retryAfter: string): Promise<unknown> {
  const transport = await transportTo((_request, response) => {
    response.writeHead(503, { 'retry-after': retryAfter }).end('busy');
  });
  return transport.json({ method: 'GET', path: '/' }).catch((error: unknown) => error);
}

test.each([
  ['2', 2_000],
  ['30', 30_000],
  ['3600', 30_000],
  ['-5', 0],
  ['Wed, 21 Oct 2026 07:28:00 GMT', undefined],
])('a server that asks to be left alone for %s is, but not for long', async (retryAfter, retryAfterMs) => {
  expect(await refusedWith(retryAfter)).toMatchObject({ status: 503, message: 'busy', retryAfterMs });
});

test('warnings of the API server and of policies reach the caller of a write, also of one that is refused', async () => {
  const told: string[] = [];
  const transport = await transportTo(
    ({ url }, response) =>
      void response
        .appendHeader('warning', '299 - "use \\"v2\\", it is newer"')
        .appendHeader('warning', '299 - "no label team"')
        .writeHead(url === '/refused' ? 403 : 200)
        .end('{}'),
    { onWarning: (text) => told.push(text) },
  );
  await transport.json({ method: 'GET', path: '/' });
  expect(told).toEqual([]);
  await transport.json({ method: 'PATCH', path: '/', body: {} });
  expect(told).toEqual(['use "v2", it is newer', 'no label team']);
  await transport.json({ method: 'POST', path: '/refused', body: {} }).catch(() => undefined);
  expect(told).toHaveLength(4);
});

const aheadOf = ({ clock }: Transport): number => clock.now() - Date.now();

test("the server's clock is learned from its answers, and not from refusals", async () => {
  const hour = 3_600_000;
  const transport = await transportTo(({ url }, response) => {
    const [status, ahead] = url === '/refused' ? [503, -hour] : [200, hour];
    response.writeHead(status, { date: new Date(Date.now() + ahead).toUTCString() }).end('{}');
  });
  await transport.json({ method: 'GET', path: '/refused' }).catch(() => undefined);
  expect(Math.abs(aheadOf(transport))).toBeLessThan(100);
  await transport.json({ method: 'GET', path: '/' });
  expect(Math.abs(aheadOf(transport) - hour)).toBeLessThan(5_000);
});

const answers = async (token: string, ofCluster: (server: string) => string): Promise<unknown> => {
  const reread = (): KubeConfig => {
    const config = new KubeConfig();
    config.loadFromClusterAndUser(
      { name: 'it', server: ofCluster(transport.server), skipTLSVerify: true },
      { name: 'it', token },
    );
    return config;
  };
  const transport: Transport = await transportTo(
    ({ headers }, response) => void response.writeHead(headers.authorization === 'Bearer new' ? 200 : 401).end('{}'),
    { reread },
  );
  return transport.json({ method: 'GET', path: '/' }).catch((error: { status: number }) => error.status);
};
const same = (server: string): string => server.replace(/\/$/, '');

describe('credentials that are rejected', () => {
  test('are read again from the kubeconfig, as after a user has signed in anew', async () => {
    expect(await answers('new', same)).toEqual({});
    expect(await answers('old', same)).toBe(401);
  });

  test('are not replaced by those of another server', async () => {
    expect(await answers('new', () => 'https://elsewhere')).toBe(401);
  });
});

test('each request is reported with its outcome and duration, or as aborted by its caller', async () => {
  const told: (RequestSummary & Ended)[] = [];
  const transport = await transportTo(
    ({ url }, response) => {
      if (url === '/silent') response.destroy();
      else if (url !== '/slow') response.writeHead(url === '/refused' ? 403 : 200).end('{}');
    },
    { onRequest: (asked) => ({ onEnd: (end) => void told.push({ ...asked, ...end }) }) },
  );
  await transport.json({ method: 'GET', path: '/well' });
  await transport.json({ method: 'POST', path: '/refused' }).catch(() => undefined);
  await transport.json({ method: 'GET', path: '/silent' }).catch(() => undefined);
  const aborted = transport.json({ method: 'GET', path: '/slow', signal: AbortSignal.timeout(20) });
  await expect(aborted).rejects.toThrow(/timeout/);
  await transport.stream({ method: 'GET', path: '/watch' });
  const isTold = { isWatch: false, isAborted: false, seconds: expect.any(Number) as number };
  expect(told).toEqual([
    { ...isTold, method: 'GET', path: '/well', status: 200 },
    { ...isTold, method: 'POST', path: '/refused', status: 403 },
    { ...isTold, method: 'GET', path: '/silent', status: undefined },
    { ...isTold, method: 'GET', path: '/slow', status: undefined, isAborted: true },
    { ...isTold, method: 'GET', path: '/watch', status: 200, isWatch: true },
  ]);
  for (const { seconds } of told) expect(seconds).toBeLessThan(5);
});

/** Returns a transport with one connection, which a call holds until `answer` is called; and what the server saw. */
async function heldTransport(options: TransportOptions = {}): Promise<Held> {
  const seen: string[] = [];
  const sockets = new Set<unknown>();
  const first = Promise.withResolvers<void>();
  const transport = await transportTo(
    ({ url, socket }, response) => {
      seen.push(url!);
      sockets.add(socket);
      if (url === '/first') void first.promise.then(() => response.end('{}'));
      else response.end('{}');
    },
    { connections: 1, ...options },
  );
  const held = transport.json({ method: 'GET', path: '/first' });
  await expect.poll(() => seen).toEqual(['/first']);
  return { transport, seen, sockets, answer: () => (first.resolve(), held) };
}

interface Held {
  transport: Transport;
  seen: string[];
  sockets: Set<unknown>;
  answer: () => Promise<unknown>;
}

test('calls that are aborted while they wait for a connection cost none', async () => {
  const { transport, seen, sockets, answer } = await heldTransport();
  const stop = new AbortController();
  const waiting = Array.from({ length: 5 }, (_, index) =>
    transport.json({ method: 'GET', path: `/given-up-${index}`, signal: stop.signal }).catch((error: unknown) => error),
  );
  const kept = transport.json({ method: 'GET', path: '/kept' });
  stop.abort(new Error('no longer wanted'));
  await answer();
  await kept;
  for (const outcome of await Promise.all(waiting)) expect(outcome).toMatchObject({ message: 'no longer wanted' });
  expect(seen).toEqual(['/first', '/kept']);
  expect(sockets.size).toBe(1);
});

test('a call that asks whether the API server answers is sent before all that wait for a connection', async () => {
  const { transport, seen, answer } = await heldTransport();
  const waiting = ['/a', '/b'].map((path) => transport.json({ method: 'GET', path }));
  const probe = transport.json({ method: 'GET', path: '/probe', isProbe: true });
  await answer();
  await Promise.all([...waiting, probe]);
  expect(seen).toEqual(['/first', '/probe', '/a', '/b']);
});

test.each([1, 2])('what is checked last is checked when a connection is open: check %i refuses', async (check) => {
  const served: string[] = [];
  const transport = await transportTo(({ method }, response) => {
    served.push(method!);
    response.end('{}');
  });
  let checks = 0;
  const refused = new Error('too late');
  const lastCheck = (): void => {
    if (++checks === check) throw refused;
  };
  const sent = transport.json({ method: 'DELETE', path: '/', body: {}, lastCheck });
  await expect(sent).rejects.toBe(refused);
  expect({ checks, served }).toEqual({ checks: check, served: [] });
  // The connection is as good as before.
  await transport.json({ method: 'DELETE', path: '/', body: {}, lastCheck });
  expect(served).toEqual(['DELETE']);
});

test('a write that had to wait for a connection is not sent if it may not be any more', async () => {
  let mayWrite = true;
  let asked = 0;
  const { transport, seen, answer } = await heldTransport({
    beforeWrite: () => {
      asked++;
      return mayWrite ? Promise.resolve() : Promise.reject(new Error('another attempt has begun'));
    },
  });
  const late = transport.json({ method: 'DELETE', path: '/late' }).catch((error: unknown) => error);
  const read = transport.json({ method: 'GET', path: '/read' });
  await expect.poll(() => asked).toBe(1);
  mayWrite = false;
  await answer();
  expect(await late).toMatchObject({ message: 'another attempt has begun' });
  await read;
  expect(seen).toEqual(['/first', '/read']);
});

const REMARK =
  '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; ' +
  'correct the existing errors to complete validation';

const vmsIn = (namespace: string): string => `/apis/kubevirt.io/v1/namespaces/${namespace}/virtualmachines`;
const creates = (namespace: string, count: number): HttpRequest[] =>
  Array.from({ length: count }, () => ({ method: 'POST', path: vmsIn(namespace) }));

/** Begins writes and then a read on eight connections. The server answers none of them before `answer`. */
async function unanswered(writes: HttpRequest[]): Promise<{ seen: string[]; answer: () => Promise<unknown> }> {
  const seen: string[] = [];
  const held = Promise.withResolvers<void>();
  const transport = await transportTo(
    ({ method, url }, response) => {
      seen.push(`${method} ${url}`);
      void held.promise.then(() => response.end('{}'));
    },
    { connections: 8 },
  );
  const begun = writes.map((call) => transport.json(call));
  await expect.poll(() => seen.length).toBeGreaterThan(5);
  begun.push(transport.json({ method: 'GET', path: '/version' }));
  await expect.poll(() => seen).toContain('GET /version');
  return { seen, answer: () => (held.resolve(), Promise.all(begun)) };
}

describe('calls that a webhook holds up', () => {
  test('leave connections to writes to other kinds, to other namespaces, and to reads', async () => {
    const status = '/apis/drover.dev/v1alpha1/namespaces/slow/virtualmachinepools/web/status';
    const patches = Array.from({ length: 9 }, () => ({ method: 'PATCH', path: status }) as const);
    const { seen, answer } = await unanswered([...creates('slow', 9), ...patches, ...creates('other', 1)]);
    const held = Array.from({ length: 4 }, () => `POST ${vmsIn('slow')}`);
    expect(seen.toSorted()).toEqual(['GET /version', `PATCH ${status}`, `POST ${vmsIn('other')}`, ...held].toSorted());
    await answer();
    expect(seen).toHaveLength(20);
  });

  test('in all namespaces leave a connection to reads', async () => {
    const writes = ['a', 'b', 'c', 'd', 'e'].flatMap((namespace) => creates(namespace, 2));
    const { seen, answer } = await unanswered(writes);
    expect(seen).toHaveLength(7);
    await answer();
    expect(seen).toHaveLength(11);
  });
});

test('the text that the API server adds to every fault of an object is left out, and nothing else', () => {
  const fault = 'VirtualMachine.kubevirt.io "web-0" is invalid: [spec.domain.devices: Required value';
  expect(withoutUncheckedRules(`${fault}, ${REMARK}]`)).toBe(`${fault}]`);
  expect(withoutUncheckedRules(`${fault}, ${REMARK.replace('null', '"null"')}]`)).toBe(`${fault}]`);
  expect(withoutUncheckedRules(`${fault}, spec.x: Invalid value: null]`)).toBe(
    `${fault}, spec.x: Invalid value: null]`,
  );
});
