import { request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Failure } from '../../../clients/cli/failure.ts';
import type { Session } from '../../../clients/dashboard/contract/messages.ts';
import { readVm } from '../../../clients/dashboard/details/vm-details.ts';
import type { Answers } from '../../../clients/dashboard/server/answer.ts';
import { LoopbackDoor } from '../../../clients/dashboard/server/loopback-door.ts';
import { serve, type RunningServer } from '../../../clients/dashboard/server/server.ts';
import { Stream } from '../../../clients/dashboard/server/stream.ts';
import { nodeViewOf } from '../../../clients/drain/node-status.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { ServerClock } from '../../../kubernetes/server-clock.ts';

const html = '<script type="importmap">{"imports":{}}</script><script type="module" src="/page/main.ts"></script>';
const acts: unknown[] = [];
/** A cluster without any objects. */
const empty = {
  get: () => Promise.reject(new KubeError(404, 'NotFound', 'gone')),
  list: () => Promise.resolve({ items: [] }),
  clock: new ServerClock(),
} as unknown as KubeClient;
let server: RunningServer;
let cookie = '';

beforeAll(async () => {
  const source = { collect: () => null, whole: () => ({}), now: Date.now };
  server = await serve(
    {
      read: {
        session: () => Promise.resolve({ user: 'ada' }),
        vms: () => readVm(empty, 'shop', 'web-1', { card: '', pool: undefined, isNodeLost: () => false, budgets: [] }),
        nodes: () => nodeViewOf(empty, 'worker-7'),
      },
      act: (body) => {
        acts.push(body);
        if ((body as { action?: string }).action === 'no') throw new Failure('pool web is not paused');
        return Promise.resolve({ ok: true, sentence: 'done', notes: [] });
      },
      stream: new Stream(source, { type: 'session' } as Session),
    },
    {
      read: (path) => Promise.resolve(path === '/page/main.ts' ? { type: 'text/javascript', body: 'let a = 1' } : null),
      index: () => Promise.resolve({ type: 'text/html', body: html }),
      inlineScripts: () => Promise.resolve(["'sha256-abc'"]),
    },
    0,
  );
  const { headers } = await ask('POST', '/api/login', own(), JSON.stringify({ token: tokenOf(server.url) }));
  cookie = headers['set-cookie']![0]!;
});
afterAll(() => server.close());

const tokenOf = (url: string): string => new URL(url).hash.slice('#token='.length);
const host = (): string => `127.0.0.1:${server.port}`;
const own = (more: Record<string, string> = {}): Record<string, string> => ({
  Host: host(),
  Origin: `http://${host()}`,
  'Sec-Fetch-Site': 'same-origin',
  'Content-Type': 'application/json',
  Cookie: cookie.split(';')[0] ?? '',
  ...more,
});

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

function ask(method: string, path: string, headers: Record<string, string>, body = ''): Promise<Answer> {
  const answered = Promise.withResolvers<Answer>();
  const asking = request(
    { host: '127.0.0.1', port: server.port, method, path, headers, setHost: false },
    (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        answered.resolve({
          status: response.statusCode!,
          headers: response.headers,
          body: Buffer.concat(chunks).toString(),
        }),
      );
    },
  );
  asking.on('error', answered.reject);
  asking.end(body);
  return answered.promise;
}

const without = (name: string): Record<string, string> =>
  Object.fromEntries(Object.entries(own()).filter(([key]) => key !== name));

describe('the server of the dashboard', () => {
  test('answers who opened the address that it printed', async () => {
    expect(await ask('GET', '/api/session', own())).toMatchObject({ status: 200, body: '{"user":"ada"}' });
    expect(cookie).toMatch(/^drover-\d+=[\w-]{43}; HttpOnly; SameSite=Strict$/);
  });

  test('listens on the loopback addresses alone', async () => {
    const closed = Promise.withResolvers<string>();
    const [other] = Object.values((await import('node:os')).networkInterfaces())
      .flat()
      .filter((one) => one?.internal === false && one.family === 'IPv4');
    if (other === undefined) return;
    connect({ host: other.address, port: server.port })
      .on('connect', () => closed.resolve('connected'))
      .on('error', ({ message }) => closed.resolve(message));
    expect(await closed.promise).toContain('ECONNREFUSED');
  });

  // A page whose name has come to resolve to 127.0.0.1 sends its own name, which is its origin, too.
  test.each(['evil.example', 'evil.example:PORT', '127.0.0.1', '127.0.0.1:1', 'localhost.evil.example:PORT', ''])(
    'refuses a request to the host %j, reads and files included',
    async (name) => {
      const Host = name.replace('PORT', String(server.port));
      for (const path of ['/', '/page/main.ts', '/api/session', '/api/stream'])
        expect(await ask('GET', path, own({ Host, Origin: `http://${Host}` }))).toMatchObject({ status: 403 });
    },
  );

  test.each(['localhost:PORT', '[::1]:PORT'])('answers to the name %j of this machine', async (name) => {
    const Host = name.replace('PORT', String(server.port));
    expect(await ask('GET', '/api/session', own({ Host, Origin: `http://${Host}` }))).toMatchObject({ status: 200 });
  });

  test('refuses requests of other origins, though their cookies come along', async () => {
    const before = acts.length;
    for (const foreign of [
      { 'Sec-Fetch-Site': 'cross-site' },
      { 'Sec-Fetch-Site': 'same-site' },
      { Origin: 'https://evil.example' },
      { Origin: 'null' },
      // Another program of this machine, on another port.
      { Origin: 'http://127.0.0.1:1' },
    ]) {
      expect(await ask('GET', '/api/session', own(foreign))).toMatchObject({ status: 403 });
      expect(await ask('POST', '/api/actions', own(foreign), '{}')).toMatchObject({ status: 403 });
    }
    expect(acts).toHaveLength(before);
  });

  test('refuses a write that is not JSON, or does not say where it comes from', async () => {
    const before = acts.length;
    const plain = own({ 'Content-Type': 'text/plain' });
    expect(await ask('POST', '/api/actions', plain, '{}')).toMatchObject({ status: 415 });
    expect(await ask('POST', '/api/actions', without('Content-Type'), '{}')).toMatchObject({ status: 415 });
    const { Origin: _, 'Sec-Fetch-Site': _site, ...nowhere } = own();
    expect(await ask('POST', '/api/actions', nowhere, '{}')).toMatchObject({ status: 403 });
    expect(await ask('POST', '/api/actions', own(), 'not json')).toMatchObject({ status: 400 });
    expect(await ask('PUT', '/api/actions', own(), '{}')).toMatchObject({ status: 405 });
    expect(acts).toHaveLength(before);
  });

  test('refuses who has not the token of this start', async () => {
    for (const Cookie of ['', `drover-${server.port}=${'x'.repeat(43)}`, `drover-1=${cookie.split('=')[1]}`])
      expect(await ask('GET', '/api/session', own({ Cookie }))).toMatchObject({ status: 401 });
    expect(await ask('GET', '/api/stream', without('Cookie'))).toMatchObject({ status: 401 });
    for (const token of ['', 'x', tokenOf(server.url).slice(1), 7, null])
      expect(await ask('POST', '/api/login', own(), JSON.stringify({ token }))).toMatchObject({ status: 401 });
    expect(await ask('POST', '/api/login', own(), 'null')).toMatchObject({ status: 401 });
  });

  test('sends headers with which no other page can frame it, run scripts in it or read it', async () => {
    const { headers } = await ask('GET', '/', own());
    expect(headers['content-security-policy']).toContain("default-src 'none'; script-src 'self' 'sha256-abc';");
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
    });
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    const refused = await ask('GET', '/api/session', own({ Host: 'evil.example' }));
    expect(refused.headers['content-security-policy']).toBeDefined();
  });

  test('serves the page at one address, and no other files', async () => {
    expect(await ask('GET', '/', without('Cookie'))).toMatchObject({ status: 200, body: html });
    expect(await ask('GET', '/pools/default/web', own())).toMatchObject({ status: 404 });
    expect(await ask('GET', '/page/main.ts', own())).toMatchObject({ status: 200, body: 'let a = 1' });
    expect(await ask('GET', '/page/other.ts', own())).toMatchObject({ status: 404 });
    expect(await ask('GET', '/api/constructor', own())).toMatchObject({ status: 404 });
    expect(await ask('POST', '/page/main.ts', own(), '{}')).toMatchObject({ status: 405 });
  });

  test.each([
    ['vms/shop/web-1', 'there is no VM shop/web-1'],
    ['nodes/worker-7', 'there is no node worker-7'],
  ])('says of what is gone that it is, so that the page shows it no longer: %s', async (path, sentence) => {
    expect(await ask('GET', `/api/${path}`, own())).toMatchObject({
      status: 404,
      body: JSON.stringify({ ok: false, sentence }),
    });
  });

  test('answers an action, and tells in the words of the command why one is refused', async () => {
    const refused = await ask('POST', '/api/actions', own(), '{"action":"no"}');
    expect(refused).toMatchObject({ status: 409, body: '{"ok":false,"sentence":"pool web is not paused"}' });
    expect(await ask('POST', '/api/actions', own(), '{"action":"yes"}')).toMatchObject({ status: 200 });
    const long = JSON.stringify({ reason: 'x'.repeat(70_000) });
    expect(await ask('POST', '/api/actions', own(), long)).toMatchObject({ status: 400 });
  });
});

test('a start takes neither the token nor the cookie of an earlier one at the same address', () => {
  const [earlier, later] = [new LoopbackDoor(1, {} as Answers), new LoopbackDoor(1, {} as Answers)];
  const [cookie = ''] = earlier.login(earlier.token)!.split(';');
  const asked = { method: 'GET', headers: { host: '127.0.0.1:1', cookie } } as unknown as IncomingMessage;
  expect(later.login(earlier.token)).toBeNull();
  expect(earlier.admit(asked, '/api/session')).not.toHaveProperty('status');
  expect(later.admit(asked, '/api/session')).toMatchObject({ status: 401 });
});
