import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { proxiedOptions } from '../../../../clients/dashboard/proxied/options.ts';
import { serveProxied, type ProxiedDashboard } from '../../../../clients/dashboard/proxied/proxied-dashboard.ts';
import { gatherSettings } from '../../../../workers/settings/gather.ts';
import { Followed } from '../opened.ts';
import { Files, type Issued } from './credentials.ts';
import { of, ORIGIN, Peer } from './peer.ts';

type How = Partial<Parameters<typeof serveProxied>[0]>;

/** What a dashboard and its proxy have of certificates, for one test. */
export async function certified(): Promise<{ files: Files; proxy: Issued }> {
  const folder = mkdtempSync(join(tmpdir(), 'drover-proxied-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const files = await Files.in(folder);
  return { files, proxy: await files.proxies.issue('front-proxy') };
}

/** A dashboard that asks Kubernetes by this kubeconfig, and the proxy before it. */
export class Proxied {
  readonly dashboard: ProxiedDashboard;
  readonly files: Files;
  readonly proxy: Issued;

  private constructor(dashboard: ProxiedDashboard, files: Files, proxy: Issued) {
    this.dashboard = dashboard;
    this.files = files;
    this.proxy = proxy;
  }

  /** `env`: settings beside those that it must have. */
  static async start(kubeconfig: string, env: Record<string, string> = {}, how: How = {}): Promise<Proxied> {
    const { files, proxy } = await certified();
    const given = {
      DROVER_DASHBOARD_PORT: '0',
      DROVER_DASHBOARD_PROXY_CA: files.paths.ca,
      DROVER_DASHBOARD_TLS_CERT: files.paths.cert,
      DROVER_DASHBOARD_TLS_KEY: files.paths.key,
      DROVER_DASHBOARD_ORIGINS: ORIGIN,
      ...env,
    };
    const options = proxiedOptions(gatherSettings(given))!;
    const globals = { cluster: 'default', kubeconfig };
    const dashboard = await serveProxied({ ...options, globals, isReadOnly: false, ...how });
    onTestFinished(() => dashboard.close());
    return new Proxied(dashboard, files, proxy);
  }

  /** `connections`: how many the proxy keeps at once. */
  peer(connections?: number): Peer {
    const peer = new Peer(this.dashboard.port, this.files.servers.pem, this.proxy, connections);
    onTestFinished(() => peer.close());
    return peer;
  }

  /** Opens the stream of a user. */
  async follow(user: string, ...groups: string[]): Promise<Followed> {
    const response = await this.peer().open('/api/stream', { headers: of(user, ...groups) });
    return new Followed().listen(response);
  }
}
