import { once } from 'node:events';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, type SecureContextOptions } from 'node:tls';
import { onTestFinished } from 'vitest';
import { certify, keyOf } from '../certificates.ts';

/** What both sides of a connection have: an authority, and what it has signed. */
interface Generation {
  server: SecureContextOptions;
  client: { 'ca.crt': string; 'tls.crt': string; 'tls.key': string };
}

interface TlsProxy {
  /** What clients need, as Kubernetes mounts a Secret. */
  env: Record<string, string>;
  /** Puts another authority, certificate and key there, takes no others from then on, and ends all connections. */
  renew: () => Promise<void>;
  /** Puts there what the proxy does not take. */
  misplace: () => Promise<void>;
  /** How many clients were refused. */
  refusals: () => number;
}

/** Starts a proxy before Temporal that takes only clients with a certificate of its authority, until the test ends. */
export async function tlsProxy(temporalAddress: string): Promise<TlsProxy> {
  const folder = mkdtempSync(join(tmpdir(), 'drover-tls-'));
  let count = 0;
  let refused = 0;
  const sockets = new Set<Socket>();
  const first = await aGeneration();
  const server = createServer({ ...first.server, ALPNProtocols: ['h2'] }, (client) => {
    const [host, port] = temporalAddress.split(':') as [string, string];
    const upstream = connect(Number(port), host);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(socket);
          client.destroy();
          upstream.destroy();
        });
    }
    client.pipe(upstream).pipe(client);
  });
  server.on('tlsClientError', () => void refused++);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(() => {
    server.close();
    cut();
    rmSync(folder, { recursive: true });
  });
  const mount = ({ client }: Generation): void => {
    const version = `..${++count}`;
    mkdirSync(join(folder, version));
    for (const [name, content] of Object.entries(client)) writeFileSync(join(folder, version, name), content);
    symlinkSync(version, join(folder, '..new'));
    renameSync(join(folder, '..new'), join(folder, '..data'));
    if (count > 1) return;
    for (const name of Object.keys(client)) symlinkSync(join('..data', name), join(folder, name));
  };
  mount(first);
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    env: {
      TEMPORAL_ADDRESS: address,
      TEMPORAL_TLS_SERVER_CA_CERT_PATH: join(folder, 'ca.crt'),
      TEMPORAL_TLS_CLIENT_CERT_PATH: join(folder, 'tls.crt'),
      TEMPORAL_TLS_CLIENT_KEY_PATH: join(folder, 'tls.key'),
    },
    renew: async () => {
      const next = await aGeneration();
      server.setSecureContext(next.server);
      mount(next);
      cut();
    },
    misplace: async () => mount(await aGeneration()),
    refusals: () => refused,
  };
}

async function aGeneration(): Promise<Generation> {
  const authority = await certify('authority');
  const [server, client] = await Promise.all([certify('server', authority), certify('client', authority)]);
  const ca = authority.certificate.toString('pem');
  return {
    server: {
      ca,
      cert: server.certificate.toString('pem'),
      key: await keyOf(server),
      requestCert: true,
    } as SecureContextOptions,
    client: { 'ca.crt': ca, 'tls.crt': client.certificate.toString('pem'), 'tls.key': await keyOf(client) },
  };
}
