import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ClusterCache } from '../../../activities/cache/cluster-cache.ts';
import { chosenIn, digestsOf } from '../../../activities/operations/chosen-vms.ts';
import { namespacedName } from '../../../decisions/disruption-budget/restart-budget.ts';
import { targetOfVmi } from '../../../decisions/power/target.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { aVm, aVmi } from '../../decisions/fixtures/fleets.ts';

const ACTIONS = ['Start', 'Stop', 'Restart', 'Migrate', 'Patch'] as const;
type Action = (typeof ACTIONS)[number];
type Fleet = Map<string, { vm: VmView; vmi?: VmiView | undefined }>;

const cacheOf = (fleet: Fleet): ClusterCache =>
  ({
    vms: { get: (key: string) => fleet.get(key)?.vm, values: () => [...fleet.values()].map(({ vm }) => vm) },
    vmiOf: (vm: VmView) => fleet.get(namespacedName(vm))?.vmi,
  }) as unknown as ClusterCache;

function newVm(namespace: string, name: string): { vm: VmView; vmi: VmiView } {
  const vm = aVm(name, { namespace, uid: randomUUID(), owner: null });
  return { vm, vmi: aVmi(vm, { uid: randomUUID(), pod: randomUUID() }) };
}

const targetOf = (action: Action, { vm, vmi }: { vm: VmView; vmi?: VmiView | undefined }): string =>
  action === 'Restart' || action === 'Migrate' ? targetOfVmi(action, vmi!) : vm.uid;

/** What may happen to a VM between two calls of an activity. */
const HAPPENINGS = ['nothing', 'deleted', 'recreated', 'restarted', 'migrated', 'stopped'] as const;

test('a run acts on the VMs that were chosen for it as they were then, and on no others', () => {
  const one = fc.record({ isChosen: fc.boolean(), happens: fc.constantFrom(...HAPPENINGS) });
  fc.assert(
    fc.property(fc.constantFrom(...ACTIONS), fc.array(one, { maxLength: 30 }), (action, all) => {
      const fleet: Fleet = new Map();
      const chosen: Record<string, Record<string, string>> = {};
      for (const [index, { isChosen }] of all.entries()) {
        const namespace = `ns-${index % 3}`;
        const made = newVm(namespace, `vm-${index}`);
        fleet.set(namespacedName(made.vm), made);
        if (isChosen) (chosen[namespace] ??= {})[made.vm.name] = targetOf(action, made);
      }
      const digests = digestsOf(cacheOf(fleet).vms, chosen);
      const before = chosenIn(cacheOf(fleet), action, digests);
      const expected = Object.entries(chosen).flatMap(([namespace, byName]) =>
        Object.entries(byName).map(([name, target]) => [`${namespace}/${name}`, target] as [string, string]),
      );
      expect(new Map(before.targets)).toEqual(new Map(expected));
      expect(digests.count).toBe(expected.length);
      expect(new Set(digests.namespaces)).toEqual(new Set(Object.keys(chosen)));
      const isAboutVmi = action === 'Restart' || action === 'Migrate';
      const later = new Map(expected);
      for (const [key, { vm, vmi }] of fleet) {
        const { happens } = all[Number(vm.name.slice(3))]!;
        const isStale = isAboutVmi && (happens === 'restarted' || happens === 'stopped');
        const hasMoved = action === 'Migrate' && happens === 'migrated';
        if (happens === 'deleted') fleet.delete(key);
        if (happens === 'recreated') fleet.set(key, newVm(vm.namespace, vm.name));
        if (happens === 'restarted') fleet.set(key, { vm, vmi: aVmi(vm, { uid: randomUUID(), pod: randomUUID() }) });
        if (happens === 'migrated') fleet.set(key, { vm, vmi: { ...vmi!, pod: randomUUID() } });
        if (happens === 'stopped') fleet.set(key, { vm });
        if (happens === 'deleted' || happens === 'recreated') later.delete(key);
        else if (later.has(key) && (isStale || hasMoved)) later.set(key, '');
      }
      const after = chosenIn(cacheOf(fleet), action, digests);
      expect(new Map(after.targets)).toEqual(later);
      expect(after.count).toBe(expected.length);
      for (const key of later.keys()) expect(after.indexOf(key)).toBe(before.indexOf(key));
    }),
  );
});

test('100,000 VMs take 14 bytes each, and each has a number', () => {
  const fleet: Fleet = new Map();
  const chosen: Record<string, string> = {};
  for (let index = 0; index < 100_000; index++) {
    const made = newVm('shop', `vm-${index}`);
    fleet.set(namespacedName(made.vm), made);
    chosen[made.vm.name] = made.vm.uid;
  }
  const digests = digestsOf(cacheOf(fleet).vms, { shop: chosen });
  expect(digests.digests.length).toBeLessThan(1_400_000);
  const { targets, indexOf } = chosenIn(cacheOf(fleet), 'Stop', digests);
  expect(targets.size).toBe(100_000);
  expect(new Set([...targets.keys()].map(indexOf)).size).toBe(100_000);
});
