import { expect, test } from 'vitest';
import type { Changed } from '../../../activities/changes/vm-changer.ts';
import { CHANGES_ANNOTATION, DO_NOT_DISRUPT_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import type { Stored } from '../../../api/objects.ts';
import { VirtualMachines } from '../../../api/resources.ts';
import { aVmi } from '../../decisions/fixtures/fleets.ts';
import { CHANGE, Shop } from './shop.ts';

test('a VM is changed and records its former values in one write; a dry run comes before the first of each shape', async () => {
  const shop = new Shop();
  const change = shop.changer();
  for (const vm of [shop.vm('a'), shop.vm('b'), shop.vm('c', { hostname: 'old' })])
    expect(await change(vm)).toMatchObject({ is: 'changed' });
  expect(shop.asked.map(({ name, isDryRun }) => `${name}${isDryRun ? '?' : ''}`)).toEqual(['a?', 'a', 'b', 'c?', 'c']);
  expect(shop.read('c').spec!.template!.spec).toMatchObject({ hostname: 'db' });
  expect(shop.notes('c')).toEqual([
    {
      ...CHANGE.record,
      need: 'Restart',
      at: expect.any(String) as string,
      edits: [
        { path: ['metadata', 'labels', 'tier'], is: 'gold', had: 1 },
        { path: ['spec', 'template', 'spec', 'hostname'], was: 'old', is: 'db' },
      ],
    },
  ]);
  expect(await change(shop.read('c'))).toEqual({ is: 'nothing' });
});

test('an undo restores what the change has replaced, and can itself be undone', async () => {
  const shop = new Shop();
  const before = shop.vm('a', { hostname: 'old' });
  await shop.changer()(before);
  const undo = (name: string, of: string) =>
    shop.changer({ wanted: { undo: of }, record: { ...CHANGE.record, id: name, operation: name } })(shop.read('a'));
  expect(await undo('undo-1', 'patch-1')).toMatchObject({ is: 'changed' });
  expect(shop.read('a').spec).toEqual(before.spec);
  expect(await undo('undo-2', 'undo-1')).toMatchObject({ is: 'changed' });
  expect(shop.read('a').spec!.template!.spec).toMatchObject({ hostname: 'db' });
  expect(shop.notes('a').map(({ operation }) => operation)).toEqual(['undo-2', 'undo-1', 'patch-1']);
});

test('what the VMI of a VM runs still needs no restart, though the VM waits for one, and all else does', async () => {
  const shop = new Shop();
  const before = shop.vm('a', { hostname: 'old' });
  await shop.changer()(before);
  const waiting = shop.waitsForRestart('a', before);
  const undo = { wanted: { undo: 'patch-1' }, restarts: true };
  const done = (await shop.changer(undo)(waiting)) as Extract<Changed, { is: 'changed' }>;
  expect(done.vm.changes[0]).toMatchObject({ need: 'Nothing' });
  expect(done.vm.changes[0]).not.toHaveProperty('vmi');
  const other = { wanted: { patch: { spec: { template: { spec: { subdomain: 'b' } } } } }, restarts: true };
  expect(await shop.changer(other)(shop.read('a'))).toMatchObject({ vm: { changes: [{ need: 'Restart' }, {}, {}] } });
});

test.each<[string, (vm: Stored) => Stored, string]>([
  [
    'a value',
    ({ metadata, ...vm }) => ({ ...vm, metadata: { ...metadata, labels: { tier: 'none' } } }),
    'metadata.labels.tier does not stay as it is written: something changes it',
  ],
  [
    'what it tells of the change',
    ({ metadata: { annotations: _none, ...metadata }, ...vm }) => ({ ...vm, metadata }),
    `metadata.annotations[${CHANGES_ANNOTATION}] does not stay as it is written: something changes it`,
  ],
])('a change is not written if the API server would not keep %s', async (_what, policy, why) => {
  const shop = new Shop();
  const vm = shop.vm('a');
  shop.policy = policy;
  await expect(shop.changer()(vm)).rejects.toThrow(why);
  expect(shop.read('a')).toEqual(vm);
  expect(shop.asked).toEqual([{ name: 'a', isDryRun: true }]);
});

test('a VM is changed only in the version that it was read in', async () => {
  const shop = new Shop();
  const vm = shop.vm('a');
  shop.server.write(VirtualMachines, vm.metadata, (before) => ({ ...before, spec: { template: { spec: {} } } }));
  await expect(shop.changer()(vm)).rejects.toMatchObject({ status: 409 });
  expect(shop.notes('a')).toEqual([]);
});

test('a VM whose former values are too long to be recorded is skipped', async () => {
  const shop = new Shop();
  const left = await shop.changer()(shop.vm('a', { hostname: 'x'.repeat(40_000) }));
  expect(left).toMatchObject({ is: 'skipped', message: expect.stringContaining('too long to be recorded') as string });
  expect(shop.asked).toEqual([]);
});

test('a change that restarts VMs skips those that opted out, unless it needs no restart', async () => {
  const shop = new Shop();
  const optedOut = { annotations: { [DO_NOT_DISRUPT_ANNOTATION]: 'true' } };
  const vm = shop.vm('a', {}, optedOut);
  expect(await shop.changer({ restarts: true })(vm)).toMatchObject({ is: 'skipped' });
  expect(shop.asked).toEqual([]);
  const label = { patch: { metadata: { labels: { tier: 'gold' } } } };
  expect(await shop.changer({ restarts: true, wanted: label })(vm)).toMatchObject({ is: 'changed' });
  expect(shop.notes('a')[0]).not.toHaveProperty('vmi');
  const other = shop.vm('b');
  const done = (await shop.changer({ restarts: true })(other)) as Extract<Changed, { is: 'changed' }>;
  expect(done.vm.changes[0]).toMatchObject({ need: 'Restart', vmi: aVmi(done.vm).uid });
});

/** A value that KubeVirt fills in as soon as it is taken away, as the type of a machine. */
const DEFAULTED = { spec: { template: { spec: { hostname: null } } } };
const withDefault =
  (of: (vm: Stored) => string) =>
  (vm: Stored): Stored => {
    const { spec } = vm as { spec?: { template: { spec: object } } };
    const inner = { hostname: of(vm), ...spec?.template.spec };
    return { ...vm, spec: { ...spec, template: { ...spec?.template, spec: inner } } };
  };

test('a value that KubeVirt fills in once it is taken away is recorded, so that an undo restores the one before', async () => {
  const shop = new Shop();
  shop.policy = withDefault(() => 'default');
  const change = shop.changer({ wanted: { patch: DEFAULTED } });
  const before = shop.vm('a', { hostname: 'old' });
  expect(await change(before)).toMatchObject({ is: 'changed' });
  expect(await change(shop.vm('b', { hostname: 'old' }))).toMatchObject({ is: 'changed' });
  expect(shop.asked.map(({ name, isDryRun }) => `${name}${isDryRun ? '?' : ''}`)).toEqual(['a?', 'a', 'b']);
  for (const name of ['a', 'b'])
    expect(shop.notes(name)[0]!.edits).toEqual([
      { path: ['spec', 'template', 'spec', 'hostname'], was: 'old', is: 'default' },
    ]);
  const undo = { wanted: { undo: 'patch-1' }, record: { ...CHANGE.record, id: 'undo-1', operation: 'undo-1' } };
  expect(await shop.changer(undo)(shop.read('a'))).toMatchObject({ is: 'changed' });
  expect(shop.read('a').spec).toEqual(before.spec);
});

test('what KubeVirt fills in for one VM is recorded, though it filled in something else for others', async () => {
  const shop = new Shop();
  shop.policy = withDefault(({ metadata }) => `of-${metadata.name}`);
  const change = shop.changer({ wanted: { patch: DEFAULTED } });
  for (const name of ['a', 'b']) await change(shop.vm(name, { hostname: 'old' }));
  expect(shop.notes('b')[0]!.edits).toMatchObject([{ was: 'old', is: 'of-b' }]);
});

test('a value that is filled in as it was before is no change', async () => {
  const shop = new Shop();
  shop.policy = withDefault(() => 'old');
  const change = shop.changer({ wanted: { patch: DEFAULTED } });
  await expect(change(shop.vm('a', { hostname: 'old' }))).rejects.toThrow('hostname does not stay as it is written');
});

test.each<[string, object, number]>([
  ['more sockets', { domain: { cpu: { sockets: 2 } } }, 1],
  ['another node selector', { nodeSelector: { zone: 'a' } }, 0],
])('a change takes a place in disruption budgets if KubeVirt migrates for it: %s', async (_what, spec, claims) => {
  const shop = new Shop();
  shop.vmi = { cpu: { sockets: 1, current: 1, maxSockets: 4 }, migratable: true };
  const vm = shop.vm('a', { domain: { cpu: { sockets: 1 } } });
  expect(await shop.changer({ wanted: { patch: { spec: { template: { spec } } } } })(vm)).toMatchObject({
    vm: { changes: [{ need: 'Live' }] },
  });
  expect(shop.claims).toBe(claims);
});
