import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { droverCrds } from '../../api/crd/crds.ts';
import { installCrds } from '../../dev/crds/crds.ts';
import type { Stack } from '../../dev/embedded-stack.ts';
import { startStack } from '../../dev/stack.ts';
import { KubeClient } from '../../kubernetes/client.ts';
import { loadKubeConfig } from '../../kubernetes/config.ts';

/**
 * Starts an API server with drover's CRDs, and nothing that acts on them, for the tests of one file, which may write to
 * `folder`.
 */
export function anApiServer(): () => { folder: string; stack: Stack; client: KubeClient } {
  let server: { folder: string; stack: Stack; client: KubeClient };
  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'drover-crd-'));
    const stack = await startStack({ state: join(folder, 'stack'), ephemeral: true, simulator: false, worker: false });
    const client = new KubeClient(loadKubeConfig({ kubeconfig: stack.kubeconfig }));
    server = { folder, stack, client };
    await installCrds(client, droverCrds());
  }, 600_000);
  afterAll(async () => {
    await server.client.close();
    await server.stack.stop();
    rmSync(server.folder, { recursive: true, force: true });
  }, 60_000);
  return () => server;
}
