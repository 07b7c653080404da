import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import type { Stack } from '../../dev/embedded-stack.ts';
import { KubeClient } from '../../kubernetes/client.ts';
import { loadKubeConfig } from '../../kubernetes/config.ts';
import { LeasedStack } from '../stacks/leased-stack.ts';

/**
 * An API server with drover's CRDs, and nothing that acts on them, for the tests of one file, which may write to
 * `folder`.
 */
export function anApiServer(): () => { folder: string; stack: Stack; client: KubeClient } {
  let server: { folder: string; stack: Stack; client: KubeClient };
  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'drover-crd-'));
    const stack = await LeasedStack.lease({ simulator: false, temporal: false });
    server = { folder, stack, client: new KubeClient(loadKubeConfig({ kubeconfig: stack.kubeconfig })) };
  });
  afterAll(async () => {
    await server.client.close();
    await server.stack.stop();
    rmSync(server.folder, { recursive: true, force: true });
  });
  return () => server;
}
