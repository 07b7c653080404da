import { describe, expect, test } from 'vitest';
import { ROLE_LABEL } from '../../../api/labels-and-annotations.ts';
import type { KubeObject, Stored } from '../../../api/objects.ts';
import { KubeVirts, VirtualMachineInstances, VirtualMachines, type Resource } from '../../../api/resources.ts';
import { choose, formatExcluded, type Choice } from '../../../clients/power/choose.ts';
import type { Session } from '../../../clients/session/session.ts';
import type { VirtualMachine } from '../../../decisions/from-object/vm.ts';
import type { PowerAction } from '../../../decisions/power/action.ts';

interface Shape {
  runStrategy: string;
  /** Phase of its VMI; no VMI if absent. */
  phase?: string;
  /** Name of the pool that owns it. */
  pool?: string;
  waits?: boolean;
  /** It runs in a pod of an earlier KubeVirt. */
  outdated?: boolean;
  /** What it is for, if it is none of its pool's replicas. */
  role?: 'Standby' | 'Surge';
}

const SHAPES: Record<string, Shape> = {
  runs: { runStrategy: 'Always', phase: 'Running', pool: 'web' },
  waits: { runStrategy: 'Manual', phase: 'Running', waits: true, outdated: true },
  crashes: { runStrategy: 'Always', pool: 'web' },
  halted: { runStrategy: 'Halted', pool: 'web' },
  stops: { runStrategy: 'Manual' },
  ended: { runStrategy: 'Once', phase: 'Succeeded' },
  standby: { runStrategy: 'Halted', pool: 'web', role: 'Standby' },
  paused: { runStrategy: 'Always', phase: 'Running', pool: 'web', role: 'Standby', waits: true },
  extra: { runStrategy: 'Always', phase: 'Running', pool: 'web', role: 'Surge', waits: true },
};

const meta = (name: string, uid: string, owner?: { apiVersion: string; kind: string; name: string; uid: string }) => ({
  namespace: 'shop',
  name,
  uid,
  resourceVersion: '1',
  creationTimestamp: '2026-01-01T00:00:00Z',
  ...(owner === undefined ? {} : { ownerReferences: [{ controller: true, ...owner }] }),
});

const ofPool = (name: string) => ({
  apiVersion: 'drover.dev/v1alpha1',
  kind: 'VirtualMachinePool',
  name,
  uid: `pool ${name}`,
});
const ofVm = (name: string) => ({ apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', name, uid: `vm ${name}` });

const VMS = Object.entries(SHAPES).map(([name, { runStrategy, pool, waits, role }]): Stored<VirtualMachine> => ({
  metadata: {
    ...meta(name, `vm ${name}`, pool === undefined ? undefined : ofPool(pool)),
    labels: { tier: 'spare', ...(role === undefined ? {} : { [ROLE_LABEL]: role }) },
  },
  spec: { runStrategy },
  status: waits === true ? { conditions: [{ type: 'RestartRequired', status: 'True', message: 'new CPU' }] } : {},
}));
const VMIS = Object.entries(SHAPES).flatMap(([name, { phase, outdated }]): Stored[] => {
  const labels = outdated === true ? { 'kubevirt.io/outdatedLauncherImage': '' } : {};
  const metadata = { ...meta(name, `vmi ${name}`, ofVm(name)), labels };
  return phase === undefined ? [] : [{ metadata, status: { phase } }];
});

const selectors: (string | undefined)[] = [];
const kube = {
  list: (resource: Resource, { labelSelector }: { labelSelector?: string } = {}) => {
    if (resource === KubeVirts) return Promise.resolve({ items: [] });
    if (resource === VirtualMachines) selectors.push(labelSelector);
    return Promise.resolve({ items: resource === VirtualMachines ? [...VMS] : VMIS });
  },
  get: (resource: Resource, { name }: { name: string }): Promise<KubeObject> => {
    const among = { [VirtualMachines.kind]: VMS, [VirtualMachineInstances.kind]: VMIS }[resource.kind];
    if (among === undefined) return Promise.resolve({ metadata: meta(name, `pool ${name}`) });
    const found = among.find(({ metadata }) => metadata.name === name);
    return found === undefined ? Promise.resolve({ metadata: meta(name, 'none') }) : Promise.resolve(found);
  },
};
const session = {
  namespace: () => Promise.resolve('shop'),
  kube: () => Promise.resolve(kube),
} as unknown as Session;

const chosen = (action: PowerAction, names: string[], choice: Partial<Choice> = {}) =>
  choose(session, action, names, { pending: false, outdated: false, allNamespaces: false, ...choice });

describe('a choice of VMs includes', () => {
  const byLabel = { selector: 'tier=spare' };
  test.each<[PowerAction, Partial<Choice>, string[]]>([
    ['Start', byLabel, ['crashes', 'ended', 'halted', 'stops']],
    ['Stop', byLabel, ['crashes', 'ended', 'runs', 'waits']],
    ['Restart', byLabel, ['runs', 'waits']],
    ['Restart', { pending: true }, ['waits']],
    ['Migrate', { outdated: true }, ['waits']],
    ['Migrate', { outdated: true, pool: 'web' }, []],
    ['Migrate', byLabel, ['runs', 'waits']],
    ['Restart', { pending: true, owner: 'vmrs/web' }, []],
    ['Start', { pool: 'web' }, ['crashes', 'halted']],
    ['Stop', { pool: 'web', ...byLabel }, ['crashes', 'runs']],
    ['Stop', { pool: 'other' }, []],
    ['Restart', { owner: 'pool/web' }, ['runs']],
  ])('a %s of %j is for', async (action, choice, names) => {
    selectors.length = 0;
    const { vms, idle } = await chosen(action, [], choice);
    expect(vms.map(({ vm }) => vm)).toEqual(names.map((name) => `shop/${name}`));
    expect(idle).toEqual([]);
    expect(selectors).toEqual([choice.selector]);
  });

  test('named VMs, except those that need nothing', async () => {
    expect(await chosen('Start', ['runs', 'halted'])).toEqual({
      vms: [{ vm: 'shop/halted', message: null }],
      names: ['halted'],
      owner: undefined,
      idle: ['runs'],
      excluded: [],
    });
    expect(await chosen('Stop', ['runs', 'halted'])).toMatchObject({
      vms: [{ vm: 'shop/runs' }],
      idle: ['halted'],
    });
    expect(await chosen('Restart', ['waits', 'stops'])).toMatchObject({
      vms: [{ vm: 'shop/waits' }],
      idle: ['stops'],
    });
  });

  test.each<[PowerAction, Partial<Choice>, string[]]>([
    ['Start', { pool: 'web' }, ['standby']],
    ['Stop', { pool: 'web' }, ['extra', 'paused']],
    ['Stop', byLabel, ['extra', 'paused']],
    ['Restart', { pending: true }, ['extra', 'paused']],
    ['Stop', { pool: 'other' }, []],
  ])('a %s of %j leaves out VMs that are not replicas', async (action, choice, names) => {
    expect((await chosen(action, [], choice)).excluded).toEqual(names);
  });

  test('VMs of no owner are chosen only by their names', async () => {
    expect(await chosen('Start', ['standby'])).toMatchObject({
      vms: [{ vm: 'shop/standby' }],
      excluded: [],
    });
    expect(formatExcluded(['web-4', 'web-5'], 'start')).toBe(
      'left out: web-4, web-5: standby or extra VMs of a pool; to start them all the same, give names',
    );
  });

  test('VMs that wait for a restart have the reason', async () => {
    expect((await chosen('Restart', [], { pending: true })).vms).toEqual([{ vm: 'shop/waits', message: 'new CPU' }]);
  });
});
