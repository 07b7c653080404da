import { describe, expect, test } from 'vitest';
import type { InstanceSpec, InstanceStatus, KubeVirt, VirtualMachineInstance } from '../../../simulator/types.ts';
import { withRoomToGrow } from '../../../simulator/vm/hotplug-capacity.ts';
import { NOT_LIVE, planRollout } from '../../../simulator/vm/rollout.ts';
import { instanceOf } from '../../../simulator/vmi/from-template.ts';
import { condition, guestSpec, machine, NOW } from '../simulated.ts';

const kubevirt = (configuration: NonNullable<KubeVirt['spec']>['configuration'] = {}): KubeVirt => ({
  metadata: { name: 'kubevirt' },
  spec: { configuration },
});
const domainOf = (domain: Partial<InstanceSpec['domain']>): InstanceSpec =>
  guestSpec({ domain: { ...guestSpec().domain, ...domain } });
const without = (field: 'cpu' | 'memory'): InstanceSpec => {
  const { [field]: _field, ...domain } = guestSpec().domain;
  return guestSpec({ domain });
};

/** Returns a running VMI that was started from `from`. */
function started(from: InstanceSpec, status: InstanceStatus = {}): VirtualMachineInstance {
  const made = instanceOf(machine({ template: { spec: from } }), kubevirt(), NOW);
  return {
    ...made,
    status: { ...made.status, phase: 'Running', conditions: [condition('LiveMigratable', 'True')], ...status },
  };
}
const plan = (wanted: InstanceSpec, liveUpdate = true, instance = started(guestSpec())) =>
  planRollout(machine({ template: { spec: wanted } }), instance, liveUpdate);
const whyOf = ({ restartRequired }: ReturnType<typeof planRollout>): string | undefined =>
  typeof restartRequired === 'object' ? restartRequired.why : undefined;

const roomOf = (cpu: NonNullable<InstanceSpec['domain']['cpu']>) =>
  withRoomToGrow(domainOf({ cpu }), kubevirt()).domain.cpu?.maxSockets;

const UNCHANGED = { restartRequired: 'none', live: undefined };
const NOT_LIVE_CHANGE = { restartRequired: { why: NOT_LIVE }, live: undefined };

describe('a change of a running template', () => {
  test.each([true, false])('that changes nothing needs nothing (live update %s)', (liveUpdate) => {
    expect(plan(guestSpec(), liveUpdate)).toEqual(UNCHANGED);
  });

  test('in the order of its fields is none', () => {
    const { domain, ...rest } = guestSpec();
    expect(plan({ ...rest, domain: Object.fromEntries(Object.entries(domain).toReversed()) })).toEqual(UNCHANGED);
  });

  test.each([
    ['the machine type', domainOf({ machine: { type: 'pc-q35-rhel9.4.0' } })],
    ['a field that the simulator knows nothing of', guestSpec({ hostname: 'other' })],
    ['cores', domainOf({ cpu: { sockets: 1, cores: 2 } })],
    ['the room to grow', domainOf({ cpu: { sockets: 1, maxSockets: 16 } })],
    ['the firmware UUID', domainOf({ firmware: { uuid: 'f-2' } })],
    ['a CPU that is no longer named', without('cpu')],
    ['a memory that is no longer named', without('memory')],
  ])('in %s waits for a restart', (_what, wanted) => {
    expect(plan(wanted)).toEqual(NOT_LIVE_CHANGE);
  });

  test("that leaves the firmware UUID out means the guest's own", () => {
    expect(plan(domainOf({ firmware: {} }))).toEqual(UNCHANGED);
  });

  test.each([
    ['sockets', domainOf({ cpu: { sockets: 2 } }), (spec: InstanceSpec) => spec.domain.cpu?.sockets, 2],
    ['memory', domainOf({ memory: { guest: '4Gi' } }), (spec: InstanceSpec) => spec.domain.memory?.guest, '4Gi'],
    [
      'the node selector',
      guestSpec({ nodeSelector: { zone: 'b' } }),
      (spec: InstanceSpec) => spec.nodeSelector,
      { zone: 'b' },
    ],
    [
      'tolerations',
      guestSpec({ tolerations: [{ key: 'a' }] }),
      (spec: InstanceSpec) => spec.tolerations,
      [{ key: 'a' }],
    ],
    [
      'affinity',
      guestSpec({ affinity: { nodeAffinity: {} } }),
      (spec: InstanceSpec) => spec.affinity,
      { nodeAffinity: {} },
    ],
  ])('in %s goes live, or waits under Stage', (_what, wanted, field, expected) => {
    const { restartRequired, live } = plan(wanted);
    expect(restartRequired).toBe('none');
    expect(field(live!)).toEqual(expected);
    expect(live!.domain.cpu?.maxSockets).toBe(4);
    expect(plan(wanted, false)).toEqual(NOT_LIVE_CHANGE);
  });

  test('one that is not live holds back those that are', () => {
    expect(plan({ ...domainOf({ cpu: { sockets: 2 } }), hostname: 'other' }).live).toBeUndefined();
  });

  test.each([
    [domainOf({ cpu: { sockets: 5 } }), /higher than what's available/],
    [domainOf({ memory: { guest: '9Gi' } }), /Guest memory is greater/],
    [domainOf({ memory: { guest: '1Gi' } }), /lower than what the VM started with/],
    [domainOf({ memory: { guest: '2049Mi' } }), /2Mi aligned/],
  ])('beyond what the guest was given room for waits for a restart, as of now', (wanted, message) => {
    expect(plan(wanted)).toMatchObject({
      restartRequired: { why: expect.stringMatching(message), anew: true },
      live: undefined,
    });
  });

  test('fewer sockets wait for a restart; none named are none', () => {
    const two = started(domainOf({ cpu: { sockets: 2 } }));
    expect(whyOf(plan(guestSpec(), true, two))).toMatch(/Reduction/);
    const model = domainOf({ cpu: { model: 'host-model' } });
    expect(whyOf(plan(model, true, started(model)))).toMatch(/Reduction/);
    const cores = domainOf({ cpu: { cores: 2 } });
    expect(plan(cores, true, started(cores))).toEqual(UNCHANGED);
  });

  test('that names a CPU for the first time waits for a restart, one that names memory does not', () => {
    expect(plan(guestSpec(), true, started(without('cpu')))).toEqual(NOT_LIVE_CHANGE);
    expect(plan(guestSpec(), true, started(without('memory')))).toEqual(UNCHANGED);
  });

  test('memory of a guest that cannot migrate waits for a restart, and all else goes live', () => {
    const wanted = { ...domainOf({ memory: { guest: '4Gi' }, cpu: { sockets: 2 } }), nodeSelector: { zone: 'b' } };
    const { live, ...rest } = plan(wanted, true, started(guestSpec(), { conditions: [] }));
    expect(whyOf({ live, ...rest })).toMatch(/only available for migratable VMs/);
    expect(live).toMatchObject({
      nodeSelector: { zone: 'b' },
      domain: { cpu: { sockets: 2 }, memory: { guest: '2Gi' } },
    });
  });

  test('memory that could not be plugged in waits for a restart', () => {
    const failed = started(guestSpec(), { conditions: [condition('HotMemoryChange', 'False')] });
    expect(whyOf(plan(guestSpec(), true, failed))).toMatch(/failed/);
  });

  const migrating: InstanceStatus = { migrationState: { startTimestamp: '2026-05-04T10:00:00Z' } };
  test.each([
    ['sockets', domainOf({ cpu: { sockets: 2 } }), 'HotPlugCPUError'],
    ['memory', domainOf({ memory: { guest: '4Gi' } }), 'HotPlugMemoryError'],
    ['the node selector', guestSpec({ nodeSelector: { zone: 'b' } }), 'AffinityChangeError'],
    ['tolerations', guestSpec({ tolerations: [{ key: 'a' }] }), 'TolerationsChangeError'],
  ])('in %s has to wait while the guest migrates', (_what, wanted, reason) => {
    const status = { ...migrating, conditions: [condition('LiveMigratable', 'True')] };
    expect(plan(wanted, true, started(guestSpec(), status))).toMatchObject({ failure: { reason }, live: undefined });
  });

  test('in sockets has to wait until those before have been plugged in', () => {
    const plugging = started(guestSpec(), { conditions: [condition('HotVCPUChange', 'True')] });
    expect(plan(domainOf({ cpu: { sockets: 2 } }), true, plugging).failure?.message).toMatch(
      /another CPU hotplug is in progress/,
    );
  });

  test('is told of a guest that goes, and not made live', () => {
    const going = {
      ...started(guestSpec()),
      metadata: { ...started(guestSpec()).metadata, deletionTimestamp: '2026-05-04T10:00:00Z' },
    };
    expect(plan(guestSpec({ hostname: 'other' }), true, going)).toEqual(NOT_LIVE_CHANGE);
    expect(plan(domainOf({ cpu: { sockets: 2 } }), true, going)).toEqual(UNCHANGED);
  });
});

describe('room to grow', () => {
  test('is four times what the guest starts with', () => {
    expect(withRoomToGrow(guestSpec(), kubevirt()).domain).toMatchObject({
      cpu: { sockets: 1, maxSockets: 4 },
      memory: { maxGuest: '8Gi' },
    });
  });

  test("is the cluster's, or the VM's own, where they say so", () => {
    const configured = kubevirt({ liveUpdateConfiguration: { maxCpuSockets: 6, maxGuest: '3Gi' } });
    expect(withRoomToGrow(guestSpec(), configured).domain).toMatchObject({
      cpu: { maxSockets: 6 },
      memory: { maxGuest: '3Gi' },
    });
    const own = domainOf({ cpu: { sockets: 1, maxSockets: 2 }, memory: { guest: '2Gi', maxGuest: '5Gi' } });
    expect(withRoomToGrow(own, configured).domain).toMatchObject({
      cpu: { maxSockets: 2 },
      memory: { maxGuest: '5Gi' },
    });
  });

  test('is none for a small guest, and none under Stage', () => {
    expect(withRoomToGrow(domainOf({ memory: { guest: '512Mi' } }), kubevirt()).domain.memory).toEqual({
      guest: '512Mi',
    });
    const staged = kubevirt({ vmRolloutStrategy: 'Stage' });
    expect(withRoomToGrow(guestSpec(), staged)).toEqual(guestSpec());
  });

  test('is at most 512 vCPUs, and no less than there are', () => {
    expect(roomOf({ sockets: 32, cores: 2, threads: 3 })).toBe(85);
    expect(roomOf({ sockets: 100, cores: 8, threads: 1 })).toBe(100);
  });

  test('is of what the resources ask for, where nothing else is said', () => {
    const domain = { devices: {}, resources: { requests: { memory: '2Gi', cpu: '1500m' } } };
    expect(withRoomToGrow({ domain }, kubevirt()).domain).toMatchObject({
      cpu: { sockets: 2, cores: 1, threads: 1, maxSockets: 8 },
      memory: { guest: '2Gi', maxGuest: '8Gi' },
    });
  });
});
