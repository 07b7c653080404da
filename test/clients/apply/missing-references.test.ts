import { expect, test } from 'vitest';
import type { Stored } from '../../../api/objects.ts';
import { missingReferences } from '../../../clients/apply/missing-references.ts';
import type { Pool } from '../../../decisions/views/pool.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { poolWith, templateOf } from '../rollout/pools.ts';

const volumes = [
  { name: 'key', secret: { secretName: 'key' } },
  { name: 'settings', configMap: { name: 'settings' } },
];
const aPool = (replicas: number, nameGeneration: object): Stored<Pool> => {
  const template = templateOf(1);
  const vmi = template.spec.template as { spec: object };
  vmi.spec = { ...vmi.spec, volumes };
  return poolWith({ spec: { replicas, template, nameGeneration } });
};
const ALL = { appendPostfixToSecretReferences: true, appendPostfixToConfigMapReferences: true };

/** What is said of the pool, if these Secrets and no ConfigMap are there; `null`: Secrets can't be listed. */
function said(pool: Stored<Pool>, secrets: readonly string[] | null): Promise<string[]> {
  const list = ({ plural }: { plural: string }): Promise<object> => {
    if (plural === 'configmaps') return Promise.resolve({ items: [] });
    if (secrets === null) return Promise.reject(new KubeError(403, 'Forbidden', ''));
    return Promise.resolve({ items: secrets.map((name) => ({ metadata: { name } })) });
  };
  return missingReferences({ list } as unknown as KubeClient, [pool]);
}

test('the list has missing Secrets and ConfigMaps that each VM needs for itself', async () => {
  expect(await said(aPool(3, ALL), ['key', 'key-2'])).toEqual([
    'pool web: Secrets key-1, key-3 are missing: VMs that need them wait until they are there',
    'pool web: ConfigMaps settings-1 … settings-3 are missing: VMs that need them wait until they are there',
  ]);
});

test('the list has what all VMs share once', async () => {
  const settings = 'pool web: ConfigMap settings is missing: VMs that need it wait until it is there';
  expect(await said(aPool(3, {}), ['key'])).toEqual([settings]);
  expect(await said(aPool(3, { appendPostfixToSecretReferences: true }), ['key-1', 'key-2'])).toEqual([
    'pool web: Secret key-3 is missing: VMs that need it wait until it is there',
    settings,
  ]);
  expect(await said(aPool(0, {}), [])).toEqual([]);
});

test('the list leaves out what the user may not list', async () => {
  expect(await said(aPool(0, ALL), null)).toEqual([]);
  expect((await said(aPool(3, ALL), null)).join()).not.toContain('Secret');
});
