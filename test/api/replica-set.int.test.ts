import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { droverCrds } from '../../api/crd/crds.ts';
import type { KubeObject } from '../../api/objects.ts';
import { VirtualMachineReplicaSets } from '../../api/resources.ts';
import { installCrds } from '../../dev/crds/crds.ts';
import type { Stack } from '../../dev/embedded-stack.ts';
import { startStack } from '../../dev/stack.ts';
import { KubeClient } from '../../kubernetes/client.ts';
import { loadKubeConfig } from '../../kubernetes/config.ts';
import { KubeError } from '../../kubernetes/errors.ts';
import { bareSet, REFUSED, TAKEN } from './replica-sets.ts';

let folder: string;
let stack: Stack;
let client: KubeClient;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'drover-set-crd-'));
  stack = await startStack({ state: join(folder, 'stack'), ephemeral: true, simulator: false, worker: false });
  client = new KubeClient(loadKubeConfig({ kubeconfig: stack.kubeconfig }));
  await installCrds(client, droverCrds());
}, 600_000);

afterAll(async () => {
  await client.close();
  await stack.stop();
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

const refusalOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'accepted',
    (error: unknown) => {
      if (error instanceof KubeError) return error.message;
      throw error;
    },
  );
const create = (set: object) => client.create(VirtualMachineReplicaSets, set as KubeObject, { dryRun: true });

test.each(Object.entries(TAKEN))('the API server takes %s', async (_, set) => {
  expect(await refusalOf(create(set))).toBe('accepted');
});

test.each(Object.entries(REFUSED))('the API server refuses %s, in the same sentence', async (_, [set, sentence]) => {
  expect(await refusalOf(create(set))).toContain(sentence);
});

test('the API server refuses another selector, and takes all else that changes', async () => {
  await client.create(VirtualMachineReplicaSets, bareSet());
  const change = (spec: object) =>
    client.patch(VirtualMachineReplicaSets, { namespace: 'default', name: 'web' }, 'merge', { spec }, { dryRun: true });
  expect(await refusalOf(change({ selector: { matchLabels: { tier: 'front' } } }))).toContain(
    'must stay as it is: make another set for another selector',
  );
  expect(await refusalOf(change({ replicas: 5, paused: true }))).toBe('accepted');
});
