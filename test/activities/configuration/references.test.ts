import { expect, test } from 'vitest';
import { References } from '../../../activities/configuration/references.ts';
import { neededReferences, waitingForMissing } from '../../../decisions/template/needed-references.ts';
import { requiredReferences } from '../../../decisions/template/references.ts';
import type { PoolTemplate } from '../../../decisions/template/template.ts';
import { vmFromTemplate } from '../../../decisions/template/vm-from-template.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { aPool } from '../../decisions/fixtures/fleets.ts';

const volumes = [
  { name: 'seed', cloudInitNoCloud: { secretRef: { name: 'user' }, networkDataSecretRef: { name: 'net' } } },
  { name: 'settings', configMap: { name: 'settings' } },
];
const template: PoolTemplate = {
  spec: { runStrategy: 'Always', template: { spec: { domain: {}, volumes } } },
  nameGeneration: { appendPostfixToSecretReferences: true, appendPostfixToConfigMapReferences: true },
};

/** Looks for what VM 3 needs, if only these objects are there; returns what is said, and what was asked for. */
async function look(
  there: readonly string[],
  hidden: readonly string[] = [],
): Promise<{ said: string; asked: string[] }> {
  const asked: string[] = [];
  const getMetadata = ({ plural }: { plural: string }, { name }: { name: string }): Promise<object> => {
    asked.push(`${plural}/${name}`);
    if (hidden.includes(plural)) return Promise.reject(new KubeError(403, 'Forbidden', ''));
    return there.includes(name) ? Promise.resolve({}) : Promise.reject(new KubeError(404, 'NotFound', ''));
  };
  const references = new References({ getMetadata } as unknown as KubeClient);
  const vm = vmFromTemplate(aPool(), template, 3);
  const own = requiredReferences(vm.spec);
  const said = async (): Promise<string> => (await references.missing('shop', own)) ?? 'all there';
  await said();
  return { said: await said(), asked };
}

test('a VM is made when all that it references under its own number is there', async () => {
  expect((await look(['user-3', 'net-3', 'settings-3'])).said).toBe('all there');
});

test("all missing objects are named, by kind and with the VM's number", async () => {
  expect((await look(['user-3', 'net-3'])).said).toBe('ConfigMap settings-3 is missing');
  expect((await look(['user', 'net', 'settings'])).said).toBe(
    'Secrets net-3, user-3 and ConfigMap settings-3 are missing',
  );
});

test('a worker that may not read Secrets makes VMs without asking for each, and still looks for ConfigMaps', async () => {
  const { said, asked } = await look(['settings-3'], ['secrets']);
  expect(said).toBe('all there');
  expect(asked).toEqual(['secrets/user-3', 'secrets/net-3', 'configmaps/settings-3', 'configmaps/settings-3']);
  expect((await look([], ['secrets'])).said).toBe('ConfigMap settings-3 is missing');
});

test.each([
  [[], 'restarted'],
  [['root'], 'not restarted: PersistentVolumeClaim root is being deleted, and its data are lost when the VMI stops'],
  [
    ['root', 'iso'],
    'not restarted: PersistentVolumeClaims iso, root are being deleted, and their data are lost when the VMI stops',
  ],
])('a VM whose claims %j are being deleted is %s', async (going, said) => {
  const getMetadata = (_: object, { name }: { name: string }): Promise<object> => {
    if (name === 'new') return Promise.reject(new KubeError(404, 'NotFound', ''));
    return Promise.resolve({ metadata: going.includes(name) ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {} });
  };
  const references = new References({ getMetadata } as unknown as KubeClient);
  const volumes = [
    { name: 'root', dataVolume: { name: 'root' } },
    { name: 'iso', persistentVolumeClaim: { claimName: 'iso' } },
    { name: 'new', dataVolume: { name: 'new' } },
  ];
  const vm = { metadata: {}, spec: { template: { spec: { volumes } } } } as unknown as Parameters<
    References['refuseRestart']
  >[0];
  const restart = references.refuseRestart(vm, { namespace: 'shop', ready: false } as unknown as VmiView);
  expect(
    await restart.then(
      () => 'restarted',
      ({ message }: Error) => message,
    ),
  ).toBe(said);
});

test('all missing objects of many are found by one list for each kind, and none of a kind that is hidden', async () => {
  const asked: string[] = [];
  const list = ({ plural }: { plural: string }): Promise<object> => {
    asked.push(plural);
    if (plural === 'configmaps') return Promise.reject(new KubeError(403, 'Forbidden', ''));
    return Promise.resolve({ items: [{ metadata: { name: 'user-2' } }] });
  };
  const references = new References({ list } as unknown as KubeClient);
  const needed = neededReferences(aPool(), template, [1, 2, 3]);
  const missing = await references.missingAmong('shop', needed);
  expect(waitingForMissing(missing)).toBe(
    'Secrets net-1 … net-3, user-1, user-3 (5) are missing: VMs that need them wait until they are there',
  );
  expect(asked).toEqual(['secrets', 'configmaps']);
});
