import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, type SecureContextOptions } from 'node:tls';
import { onTestFinished } from 'vitest';

/** What both sides of a connection have: an authority, and what it has signed. */
interface Generation {
  server: SecureContextOptions;
  client: { 'ca.crt': Buffer; 'tls.crt': Buffer; 'tls.key': Buffer };
}

interface TlsProxy {
  /** What clients need, as Kubernetes mounts a Secret. */
  env: Record<string, string>;
  /** Puts another authority, certificate and key there, takes no others from then on, and ends all connections. */
  renew: () => void;
  /** Puts there what the proxy does not take. */
  misplace: () => void;
  /** How many clients were refused. */
  refusals: () => number;
}

/** Starts a proxy before Temporal that takes only clients with a certificate of its authority, until the test ends. */
export async function tlsProxy(temporalAddress: string): Promise<TlsProxy> {
  const folder = mkdtempSync(join(tmpdir(), 'drover-tls-'));
  let count = 0;
  let refused = 0;
  const sockets = new Set<Socket>();
  const first = aGeneration(folder);
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
    renew: () => {
      const next = aGeneration(folder);
      server.setSecureContext(next.server);
      mount(next);
      cut();
    },
    misplace: () => mount(aGeneration(folder)),
    refusals: () => refused,
  };
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

function aGeneration(parent: string): Generation {
  const folder = mkdtempSync(join(parent, 'made-'));
  const openssl = (...args: string[]): void => void execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const read = (name: string): Buffer => readFileSync(join(folder, name));
  openssl('req', '-x509', ...NEW_KEY, '-keyout', 'ca.key', '-out', 'ca.crt', '-subj', '/CN=authority', '-days', '1');
  for (const name of ['server', 'client']) {
    openssl('req', ...NEW_KEY, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`);
    writeFileSync(join(folder, `${name}.ext`), 'subjectAltName=IP:127.0.0.1\n');
    const signed = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', `${name}.ext`, '-days', '1'];
    openssl('x509', '-req', '-in', `${name}.csr`, '-out', `${name}.crt`, ...signed);
  }
  const ca = read('ca.crt');
  return {
    server: { ca, cert: read('server.crt'), key: read('server.key'), requestCert: true } as SecureContextOptions,
    client: { 'ca.crt': ca, 'tls.crt': read('client.crt'), 'tls.key': read('client.key') },
  };
}
