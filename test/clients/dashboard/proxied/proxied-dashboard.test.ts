import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import 'reflect-metadata';
import { ExtendedKeyUsageExtension, SubjectAlternativeNameExtension } from '@peculiar/x509';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { proxiedOptions, type ProxiedOptions } from '../../../../clients/dashboard/proxied/options.ts';
import { serveProxied, type ProxiedDashboard } from '../../../../clients/dashboard/proxied/proxied-dashboard.ts';
import { gatherSettings } from '../../../../workers/settings/gather.ts';
import { waitFor } from '../../../wait-for.ts';
import { Authority, Files, type Issued } from './credentials.ts';
import { of, ORIGIN, Peer } from './peer.ts';

const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';
const folder = mkdtempSync(join(tmpdir(), 'drover-proxied-'));
let files: Files;
let proxy: Issued;
let dashboard: ProxiedDashboard;

const env = (more: Record<string, string> = {}): NodeJS.ProcessEnv => ({
  DROVER_DASHBOARD_PORT: '0',
  DROVER_DASHBOARD_PROXY_CA: files.paths.ca,
  DROVER_DASHBOARD_TLS_CERT: files.paths.cert,
  DROVER_DASHBOARD_TLS_KEY: files.paths.key,
  DROVER_DASHBOARD_ORIGINS: ORIGIN,
  DROVER_HEALTH_PORT: '0',
  ...more,
});
const optionsOf = (more?: Record<string, string>): ProxiedOptions => proxiedOptions(gatherSettings(env(more)))!;

/** A dashboard whose API server is never asked: nothing here is for Kubernetes. */
async function served(more: Record<string, string> = {}): Promise<ProxiedDashboard> {
  const globals = { cluster: 'default', kubeconfig: join(folder, 'none') };
  return serveProxied({ ...optionsOf(more), globals, isReadOnly: false, renewedEveryMs: 50 });
}

/** Whoever has this certificate asks. */
function peer(as: Issued | undefined, port = dashboard.port): Peer {
  const one = new Peer(port, files.servers.pem, as);
  onTestFinished(() => one.close());
  return one;
}

const metricsOf = async ({ healthPort }: ProxiedDashboard): Promise<string> =>
  (await fetch(`http://127.0.0.1:${healthPort}/metrics`)).text();

beforeAll(async () => {
  files = await Files.in(folder);
  proxy = await files.proxies.issue('front-proxy');
  dashboard = await served();
});
afterAll(async () => {
  await dashboard.close();
  rmSync(folder, { recursive: true });
});

describe('a peer that proves itself', () => {
  test('is answered for the user whom it names', async () => {
    expect(await peer(proxy).ask('/', { headers: of('ada') })).toMatchObject({ status: 200 });
    expect((await peer(proxy).ask('/', { headers: of('ada') })).headers['content-security-policy']).toContain(
      "default-src 'none'",
    );
  });

  test('is told what is wrong with what it says of the user', async () => {
    const one = peer(proxy);
    expect(await one.ask('/')).toMatchObject({ status: 401, body: expect.stringContaining('names no user') });
    expect(await one.ask('/', { headers: of('system:admin') })).toMatchObject({ status: 403 });
    expect(await one.ask('/', { headers: of('ada', 'ops', 'system:masters') })).toMatchObject({ status: 403 });
    expect(await one.ask('/', { headers: { 'X-Forwarded-User': ['ada', 'bob'] } })).toMatchObject({ status: 400 });
    const smuggled = { ...of('ada'), X_Forwarded_User: 'bob' };
    expect(await one.ask('/', { headers: smuggled })).toMatchObject({ status: 400 });
    expect(await one.ask('/', { headers: of('a'.repeat(70_000)) })).toMatchObject({ status: 431 });
  });

  test('cannot ask for another host or origin, and there is no login', async () => {
    const one = peer(proxy);
    for (const headers of [{ host: 'evil.example' }, { host: 'drover.example.com:8443' }, { host: '127.0.0.1' }])
      expect(await one.ask('/', { headers: { ...of('ada'), ...headers } })).toMatchObject({ status: 403 });
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: 'http://drover.example.com' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'cross-site' },
    ]) {
      expect(await one.ask('/api/session', { headers: { ...of('ada'), ...headers } })).toMatchObject({ status: 403 });
      const post = { method: 'POST', headers: { ...of('ada'), ...headers }, body: {} };
      expect(await one.ask('/api/actions', post)).toMatchObject({ status: 403 });
    }
    const twice = { ...of('ada'), origin: [ORIGIN, 'https://evil.example'] };
    expect(await one.ask('/api/session', { headers: twice })).toMatchObject({ status: 400 });
    const login = { method: 'POST', headers: of('ada'), body: { token: 'x' } };
    expect(await one.ask('/api/login', login)).toMatchObject({ status: 404 });
  });
});

describe('a peer without proof is told nothing but that, whatever headers it sends:', () => {
  const refused = {
    status: 401,
    body: expect.stringContaining('only a proxy with the right client certificate') as string,
  };
  const asks = async (as: Issued | undefined, port = dashboard.port): Promise<void> => {
    for (const path of ['/', '/page/main.ts', '/api/session', '/api/stream'])
      expect(await peer(as, port).ask(path, { headers: of('ada', 'ops') })).toMatchObject(refused);
    const post = { method: 'POST', headers: of('ada'), body: {} };
    expect(await peer(as, port).ask('/api/actions', post)).toMatchObject(refused);
  };

  test('one without a certificate', () => asks(undefined));

  test('one with a certificate of another authority, though it has the same name', async () => {
    await asks(await (await Authority.make('proxies')).issue('front-proxy'));
    await asks(await files.servers.issue('front-proxy'));
  });

  test('one with a certificate for servers alone', async () =>
    asks(await files.proxies.issue('front-proxy', new ExtendedKeyUsageExtension([SERVER_AUTH]))));

  test('one with a name that is not allowed', async () => {
    const strict = await served({ DROVER_DASHBOARD_PROXY_NAMES: 'front-proxy,spiffe://cluster/ns/ingress/sa/envoy' });
    onTestFinished(() => strict.close());
    const uri = { type: 'url', value: 'spiffe://cluster/ns/ingress/sa/envoy' } as const;
    const dns = { type: 'dns', value: 'front-proxy' } as const;
    const others: [string, Issued][] = await Promise.all(
      ['front-proxy', 'front-proxy.evil', 'evil', 'DNS:front-proxy', 'x, DNS:front-proxy'].map(
        async (name): Promise<[string, Issued]> => [name, await files.proxies.issue(name)],
      ),
    );
    for (const [name, issued] of others) {
      if (name !== 'front-proxy') await asks(issued, strict.port);
      else expect(await peer(issued, strict.port).ask('/', { headers: of('ada') })).toMatchObject({ status: 200 });
    }
    for (const alternative of [uri, dns]) {
      const issued = await files.proxies.issue('', new SubjectAlternativeNameExtension([alternative]));
      expect(await peer(issued, strict.port).ask('/', { headers: of('ada') })).toMatchObject({ status: 200 });
    }
    const mimic = { type: 'url', value: 'https://evil/, DNS:front-proxy' } as const;
    await asks(await files.proxies.issue('', new SubjectAlternativeNameExtension([mimic])), strict.port);
  });

  test('one that resumes a session without a certificate, which TLS then takes for proved', async () => {
    const tls = { host: '127.0.0.1', port: dashboard.port, ca: files.servers.pem };
    const first = await connected(connect(tls));
    const session = await new Promise<Buffer | undefined>((resolve) => {
      first.once('session', resolve);
      // TLS 1.3 gives a session with the first answer, or not at all.
      first.once('data', () => setImmediate(resolve, undefined));
      first.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    });
    first.destroy();
    const again = await connected(connect({ ...tls, ...(session === undefined ? {} : { session }) }));
    const answer = new Promise<string>((resolve) => again.once('data', (data: Buffer) => resolve(data.toString())));
    again.write(`GET / HTTP/1.1\r\nHost: drover.example.com\r\nX-Forwarded-User: ada\r\n\r\n`);
    expect(await answer).toContain('401 Unauthorized');
    again.destroy();
  });

  test('and it is counted, with the name of the cluster, as all is', async () => {
    const metrics = await metricsOf(dashboard);
    expect(metrics).toMatch(/drover_dashboard_refused_requests_total\{status="401",cluster="default"\} \d\d/);
    const series = metrics.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    expect(series.filter((line) => !line.includes('cluster="default"'))).toEqual([]);
  });
});

async function connected(socket: TLSSocket): Promise<TLSSocket> {
  await new Promise((resolve) => void socket.once('secureConnect', resolve));
  return socket;
}

test('certificates are renewed without a restart, and who proved itself by those of before proves itself again', async () => {
  const one = await served();
  onTestFinished(async () => {
    await one.close();
    files.write(await files.servers.issue('drover-dashboard'));
  });
  const kept = peer(proxy, one.port);
  const { socket } = await kept.ask('/', { headers: of('ada') });
  const [next, others] = [await Authority.make('next'), await Authority.make('next servers')];
  // Half of a renewal is not used.
  files.write({ ...(await others.issue('drover-dashboard')), key: proxy.key }, next.pem);
  await waitFor(async () => expect(await metricsOf(one)).toBeDefined(), 10_000);
  files.write(await others.issue('drover-dashboard'), next.pem);
  await waitFor(() => Promise.resolve(expect(socket.destroyed).toBe(true)), 10_000);
  const renewed = new Peer(one.port, others.pem, await next.issue('front-proxy'));
  onTestFinished(() => renewed.close());
  await waitFor(
    async () => expect(await renewed.ask('/', { headers: of('ada') })).toMatchObject({ status: 200 }),
    10_000,
  );
  const stale = new Peer(one.port, others.pem, proxy);
  onTestFinished(() => stale.close());
  expect(await stale.ask('/', { headers: of('ada') })).toMatchObject({ status: 401 });
});

test('an authority that is empty, or becomes so, is not used: any certificate of the system would do', async () => {
  const one = await served();
  onTestFinished(async () => {
    await one.close();
    files.write(await files.servers.issue('drover-dashboard'));
  });
  files.write(await files.servers.issue('drover-dashboard'), '\n');
  await expect(served()).rejects.toThrow('ca.crt has no certificate in it');
  expect(await peer(undefined, one.port).ask('/', { headers: of('ada') })).toMatchObject({ status: 401 });
  expect(await peer(proxy, one.port).ask('/', { headers: of('ada') })).toMatchObject({ status: 200 });
});

test('probes say nothing of users, and that it is about to end', async () => {
  const one = await served();
  const health = (path: string): Promise<Response> => fetch(`http://127.0.0.1:${one.healthPort}${path}`);
  expect([(await health('/healthz')).status, (await health('/readyz')).status]).toEqual([200, 200]);
  expect((await health('/api/session')).status).toBe(404);
  const closing = one.close();
  expect((await health('/readyz')).status).toBe(503);
  // Until others know that, it still answers.
  expect(await peer(proxy, one.port).ask('/', { headers: of('ada') })).toMatchObject({ status: 200 });
  await closing;
  await expect(health('/healthz')).rejects.toThrow();
});

describe('settings', () => {
  test.each([['DROVER_DASHBOARD_TLS_CERT'], ['DROVER_DASHBOARD_TLS_KEY'], ['DROVER_DASHBOARD_ORIGINS']])(
    'without %s are refused',
    (name) => {
      expect(() => optionsOf({ [name]: '' })).toThrow(`behind a proxy, ${name} must be given, too`);
    },
  );

  test('that say anything of a proxy, but not by whose certificate it proves itself, are refused', () => {
    expect(() => optionsOf({ DROVER_DASHBOARD_PROXY_CA: '' })).toThrow(
      'DROVER_DASHBOARD_TLS_CERT is for a dashboard behind a proxy, which needs DROVER_DASHBOARD_PROXY_CA',
    );
    expect(proxiedOptions(gatherSettings({ DROVER_DASHBOARD_PORT: '8899' }))).toBeUndefined();
  });

  test.each([
    ['DROVER_DASHBOARD_ORIGINS', 'http://drover.example.com', 'must be https://'],
    ['DROVER_DASHBOARD_ORIGINS', 'https://drover.example.com/', 'without a slash'],
    ['DROVER_DASHBOARD_USER_HEADER', 'X_Forwarded_User', 'must be the name of a header'],
    ['DROVER_DASHBOARD_USER_HEADER', 'X-Forwarded-Groups', "can't be the header of the user and of the groups"],
    ['DROVER_DASHBOARD_USER_PREFIX', 'system:', 'that begin with system: are'],
    ['DROVER_DASHBOARD_MOST_USERS', '0', 'from 1 to 1000'],
  ])('%s=%s are refused', (name, value, why) => {
    expect(() => optionsOf({ [name]: value })).toThrow(why);
  });
});
