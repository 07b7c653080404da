import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Resource } from '../../api/resources.ts';
import type { Stack } from '../../dev/embedded-stack.ts';
import { startedAt } from '../../dev/process/process-identity.ts';
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

/** A stack of servers alone. */
export const SERVERS = { simulator: false, worker: false } as const;

/** Creates a folder that is removed after the test. */
export function stateFolder(): string {
  const state = mkdtempSync(join(tmpdir(), 'drover-stack-'));
  onTestFinished(() => rmSync(state, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 }));
  return state;
}

const connect = ({ kubeconfig }: Pick<Stack, 'kubeconfig'>): KubeClient =>
  new KubeClient(loadKubeConfig({ kubeconfig }));

export async function createConfigMap(stack: Pick<Stack, 'kubeconfig'>, name: string): Promise<void> {
  const client = connect(stack);
  try {
    await client.create(ConfigMaps, configMap(name));
  } finally {
    await client.close();
  }
}

/** Returns a client that is closed after the test. */
export function kubeOf(stack: Pick<Stack, 'kubeconfig'>): KubeClient {
  const client = connect(stack);
  onTestFinished(() => client.close());
  return client;
}

export const living = (pids: number[]): number[] => pids.filter((pid) => startedAt(pid) !== undefined);
export const pidsOf = ({ processes }: { processes: { pid: number }[] }): number[] => processes.map(({ pid }) => pid);
