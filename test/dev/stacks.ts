import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Resource } from '../../api/resources.ts';
import type { Stack, StackOptions } from '../../dev/embedded-stack.ts';
import { startedAt } from '../../dev/process/process-identity.ts';
import { startStack } from '../../dev/stack.ts';
import { KubeClient } from '../../kubernetes/client.ts';
import { loadKubeConfig } from '../../kubernetes/config.ts';

export const ConfigMaps: Resource = {
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  namespaced: true,
};
export const configMap = (name: string) => ({ metadata: { name, namespace: 'default' }, data: { here: 'yes' } });

/** Creates a folder that is removed after the test. */
export function stateFolder(): string {
  const state = mkdtempSync(join(tmpdir(), 'drover-stack-'));
  onTestFinished(() => rmSync(state, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 }));
  return state;
}

/** Starts only the servers, unless `options` say otherwise; they end with the test. */
export async function servers(options: Partial<StackOptions> = {}): Promise<Stack> {
  const stack = await startStack({
    state: options.state ?? stateFolder(),
    simulator: false,
    worker: false,
    ...options,
  });
  onTestFinished(() => stack.stop());
  return stack;
}

export function kubeOf({ kubeconfig }: { kubeconfig: string }): KubeClient {
  const client = new KubeClient(loadKubeConfig({ kubeconfig }));
  onTestFinished(() => client.close());
  return client;
}

export const living = (pids: number[]): number[] => pids.filter((pid) => startedAt(pid) !== undefined);
export const pidsOf = ({ processes }: Pick<Stack, 'processes'>): number[] => processes.map(({ pid }) => pid);
