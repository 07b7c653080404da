import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Extension } from '@peculiar/x509';
import type { CredentialFiles } from '../../../../clients/dashboard/proxied/credentials.ts';
import { certify, keyOf, type Certified } from '../../../certificates.ts';

/** A certificate with its key, as PEM. */
export interface Issued {
  cert: string;
  key: string;
}

/** An authority that issues certificates. */
export class Authority {
  readonly #own: Certified;

  private constructor(own: Certified) {
    this.#own = own;
  }

  static async make(name = 'authority'): Promise<Authority> {
    return new Authority(await certify(name));
  }

  get pem(): string {
    return this.#own.certificate.toString('pem');
  }

  async issue(name: string, ...more: Extension[]): Promise<Issued> {
    const issued = await certify(name, this.#own, ...more);
    return { cert: issued.certificate.toString('pem'), key: await keyOf(issued) };
  }
}

/** The files of a dashboard, as Secrets have them in its pod, and who has issued what is in them. */
export class Files {
  readonly paths: CredentialFiles;
  /** Of the proxy's client certificate. */
  readonly proxies: Authority;
  /** Of the certificate that the proxy is shown. */
  readonly servers: Authority;

  private constructor(folder: string, proxies: Authority, servers: Authority) {
    this.paths = { ca: join(folder, 'ca.crt'), cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key') };
    this.proxies = proxies;
    this.servers = servers;
  }

  static async in(folder: string): Promise<Files> {
    const files = new Files(folder, await Authority.make('proxies'), await Authority.make('servers'));
    files.write(await files.servers.issue('drover-dashboard'));
    return files;
  }

  write({ cert, key }: Issued, ca = this.proxies.pem): void {
    writeFileSync(this.paths.ca, ca);
    writeFileSync(this.paths.cert, cert);
    writeFileSync(this.paths.key, key);
  }
}
