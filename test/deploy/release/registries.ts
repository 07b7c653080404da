import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createServer, type Server } from 'node:tls';
import { stringify } from 'yaml';
import { certificates } from '../../certificates.ts';
import { freePort } from '../../integration/free-port.ts';
import { spawnReaped } from '../../reaped.ts';
import { PATIENCE_MS, waitFor } from '../../wait-for.ts';

/** Programs that are registries, by their paths. */
interface Programs {
  crane: string;
  verdaccio: string;
}

/** What a release is published to, on this machine: a registry of images and charts by TLS, and one of npm packages. */
export class Registries {
  /** Of images and charts, as a host with its port. */
  readonly oci: string;
  /** Of npm packages, as an address. */
  readonly npm: string;
  /** The file of the authority that has certified the first. */
  readonly authority: string;
  /** By which npm may publish. */
  readonly token: string;
  readonly #stop: () => void;

  private constructor(of: Pick<Registries, 'oci' | 'npm' | 'authority' | 'token'>, stop: () => void) {
    this.oci = of.oci;
    this.npm = of.npm;
    this.authority = of.authority;
    this.token = of.token;
    this.#stop = stop;
  }

  /** Starts them with an empty folder for what they keep. */
  static async start(folder: string, { crane, verdaccio }: Programs): Promise<Registries> {
    mkdirSync(folder);
    const behind = await freePort();
    const serve = ['registry', 'serve', '--address', `127.0.0.1:${behind}`, '--disk', folder];
    const images = spawnReaped(crane, serve, { stdio: 'ignore' });
    const { ca, server } = await certificates();
    const authority = join(folder, 'ca.crt');
    writeFileSync(authority, ca);
    const front = await inFrontOf(behind, server);

    const npm = `http://127.0.0.1:${await freePort()}/`;
    const how = ['--config', configuration(folder), '--listen', new URL(npm).host];
    const packages = spawnReaped(process.execPath, [verdaccio, ...how], { stdio: 'ignore' });
    const token = await waitFor(() => signUp(npm), PATIENCE_MS);
    const oci = `127.0.0.1:${(front.address() as AddressInfo).port}`;
    return new Registries({ oci, npm, authority, token }, () => {
      front.close();
      for (const process of [images, packages]) process.kill();
    });
  }

  stop(): void {
    this.#stop();
  }
}

/** Programs trust no registry without TLS. */
async function inFrontOf(port: number, credentials: { cert: string; key: string }): Promise<Server> {
  const server = createServer(credentials, (client) => {
    const upstream = connect(port, '127.0.0.1');
    for (const socket of [client, upstream])
      socket
        .on('error', () => {})
        .on('close', () => {
          client.destroy();
          upstream.destroy();
        });
    client.pipe(upstream).pipe(client);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
}

/** Writes settings of verdaccio: nothing from other registries, and packages only of users. */
function configuration(folder: string): string {
  const file = join(folder, 'verdaccio.yaml');
  const settings = {
    storage: join(folder, 'packages'),
    auth: { htpasswd: { file: join(folder, 'users') } },
    packages: { '**': { access: '$all', publish: '$authenticated' } },
    log: { type: 'stdout', level: 'warn' },
    web: { enable: false },
  };
  writeFileSync(file, stringify(settings));
  return file;
}

async function signUp(npm: string): Promise<string> {
  const answer = await fetch(new URL('-/user/org.couchdb.user:releaser', npm), {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'releaser', password: 'password-of-a-test' }),
  });
  const { token } = (await answer.json()) as { token?: string };
  if (token === undefined) throw new Error(`no token: ${answer.status}`);
  return token;
}
