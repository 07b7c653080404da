import { describe, expect, test } from 'vitest';
import type {
  VmiSpec,
  VmiStatus,
  KubeVirt,
  VirtualMachineInstance,
  Volume,
} from '../../../simulator/objects/kubevirt.ts';
import { withHotplugCapacity } from '../../../simulator/vm/hotplug-capacity.ts';
import { NOT_LIVE, planRollout } from '../../../simulator/vm/rollout.ts';
import { vmiOf } from '../../../simulator/vmi/from-template.ts';
import { condition, vmiSpec, aVm, NOW } from '../simulated.ts';

const kubevirt = (configuration: NonNullable<KubeVirt['spec']>['configuration'] = {}): KubeVirt => ({
  metadata: { name: 'kubevirt' },
  spec: { configuration },
});
const domainOf = (domain: Partial<VmiSpec['domain']>): VmiSpec =>
  vmiSpec({ domain: { ...vmiSpec().domain, ...domain } });
const without = (field: 'cpu' | 'memory'): VmiSpec => {
  const { [field]: _field, ...domain } = vmiSpec().domain;
  return vmiSpec({ domain });
};

/** Returns a running VMI that was started from `from`. */
function started(from: VmiSpec, status: VmiStatus = {}): VirtualMachineInstance {
  const made = vmiOf(aVm({ template: { spec: from } }), kubevirt(), NOW);
  return {
    ...made,
    status: { ...made.status, phase: 'Running', conditions: [condition('LiveMigratable', 'True')], ...status },
  };
}
const plan = (wanted: VmiSpec, liveUpdate = true, vmi = started(vmiSpec())) =>
  planRollout(aVm({ template: { spec: wanted } }), vmi, liveUpdate);
const whyOf = ({ restartRequired }: ReturnType<typeof planRollout>): string | undefined =>
  typeof restartRequired === 'object' ? restartRequired.message : undefined;

const roomOf = (cpu: NonNullable<VmiSpec['domain']['cpu']>) =>
  withHotplugCapacity(domainOf({ cpu }), kubevirt()).domain.cpu?.maxSockets;

const UNCHANGED = { restartRequired: 'none', live: undefined };
const NOT_LIVE_CHANGE = { restartRequired: { message: NOT_LIVE }, live: undefined };

describe('a change of a running template', () => {
  test.each([true, false])('that changes nothing needs nothing (live update %s)', (liveUpdate) => {
    expect(plan(vmiSpec(), liveUpdate)).toEqual(UNCHANGED);
  });

  test('in the order of its fields does not count', () => {
    const { domain, ...rest } = vmiSpec();
    expect(plan({ ...rest, domain: Object.fromEntries(Object.entries(domain).toReversed()) })).toEqual(UNCHANGED);
  });

  test.each([
    ['the machine type', domainOf({ machine: { type: 'pc-q35-rhel9.4.0' } })],
    ['a field that the simulator knows nothing of', vmiSpec({ hostname: 'other' })],
    ['cores', domainOf({ cpu: { sockets: 1, cores: 2 } })],
    ['the room to grow', domainOf({ cpu: { sockets: 1, maxSockets: 16 } })],
    ['the firmware UUID', domainOf({ firmware: { uuid: 'f-2' } })],
    ['a CPU that is no longer named', without('cpu')],
    ['a memory that is no longer named', without('memory')],
  ])('in %s waits for a restart', (_what, wanted) => {
    expect(plan(wanted)).toEqual(NOT_LIVE_CHANGE);
  });

  test("that leaves the firmware UUID out means the VMI's own", () => {
    expect(plan(domainOf({ firmware: {} }))).toEqual(UNCHANGED);
  });

  test.each([
    ['sockets', domainOf({ cpu: { sockets: 2 } }), (spec: VmiSpec) => spec.domain.cpu?.sockets, 2],
    ['memory', domainOf({ memory: { guest: '4Gi' } }), (spec: VmiSpec) => spec.domain.memory?.guest, '4Gi'],
    [
      'the node selector',
      vmiSpec({ nodeSelector: { zone: 'b' } }),
      (spec: VmiSpec) => spec.nodeSelector,
      { zone: 'b' },
    ],
    ['tolerations', vmiSpec({ tolerations: [{ key: 'a' }] }), (spec: VmiSpec) => spec.tolerations, [{ key: 'a' }]],
    ['affinity', vmiSpec({ affinity: { nodeAffinity: {} } }), (spec: VmiSpec) => spec.affinity, { nodeAffinity: {} }],
  ])('in %s goes live, or waits under Stage', (_what, wanted, field, expected) => {
    const { restartRequired, live } = plan(wanted);
    expect(restartRequired).toBe('none');
    expect(field(live!)).toEqual(expected);
    expect(live!.domain.cpu?.maxSockets).toBe(4);
    expect(plan(wanted, false)).toEqual(NOT_LIVE_CHANGE);
  });

  test('that is not live holds back those that are', () => {
    expect(plan({ ...domainOf({ cpu: { sockets: 2 } }), hostname: 'other' }).live).toBeUndefined();
  });

  test.each([
    [domainOf({ cpu: { sockets: 5 } }), /higher than what's available/],
    [domainOf({ memory: { guest: '9Gi' } }), /Guest memory is greater/],
    [domainOf({ memory: { guest: '1Gi' } }), /lower than what the VM started with/],
    [domainOf({ memory: { guest: '2049Mi' } }), /2Mi aligned/],
  ])('beyond what the VMI was given room for waits for a restart, as of now', (wanted, message) => {
    expect(plan(wanted)).toMatchObject({
      restartRequired: { message: expect.stringMatching(message), isNew: true },
      live: undefined,
    });
  });

  test('to fewer sockets waits for a restart; one to no sockets does not count', () => {
    const two = started(domainOf({ cpu: { sockets: 2 } }));
    expect(whyOf(plan(vmiSpec(), true, two))).toMatch(/Reduction/);
    const model = domainOf({ cpu: { model: 'host-model' } });
    expect(whyOf(plan(model, true, started(model)))).toMatch(/Reduction/);
    const cores = domainOf({ cpu: { cores: 2 } });
    expect(plan(cores, true, started(cores))).toEqual(UNCHANGED);
  });

  test('that names a CPU for the first time waits for a restart, and one that names memory does not', () => {
    expect(plan(vmiSpec(), true, started(without('cpu')))).toEqual(NOT_LIVE_CHANGE);
    expect(plan(vmiSpec(), true, started(without('memory')))).toEqual(UNCHANGED);
  });

  test('of memory waits for a restart if the VMI cannot migrate, and all else goes live', () => {
    const wanted = { ...domainOf({ memory: { guest: '4Gi' }, cpu: { sockets: 2 } }), nodeSelector: { zone: 'b' } };
    const { live, ...rest } = plan(wanted, true, started(vmiSpec(), { conditions: [] }));
    expect(whyOf({ live, ...rest })).toMatch(/only available for migratable VMs/);
    expect(live).toMatchObject({
      nodeSelector: { zone: 'b' },
      domain: { cpu: { sockets: 2 }, memory: { guest: '2Gi' } },
    });
  });

  test('of memory that could not be plugged in waits for a restart', () => {
    const failed = started(vmiSpec(), { conditions: [condition('HotMemoryChange', 'False')] });
    expect(whyOf(plan(vmiSpec(), true, failed))).toMatch(/failed/);
  });

  const migrating: VmiStatus = { migrationState: { startTimestamp: '2026-05-04T10:00:00Z' } };
  test.each([
    ['sockets', domainOf({ cpu: { sockets: 2 } }), 'HotPlugCPUError'],
    ['memory', domainOf({ memory: { guest: '4Gi' } }), 'HotPlugMemoryError'],
    ['the node selector', vmiSpec({ nodeSelector: { zone: 'b' } }), 'AffinityChangeError'],
    ['tolerations', vmiSpec({ tolerations: [{ key: 'a' }] }), 'TolerationsChangeError'],
  ])('in %s has to wait while the VMI migrates', (_what, wanted, reason) => {
    const status = { ...migrating, conditions: [condition('LiveMigratable', 'True')] };
    expect(plan(wanted, true, started(vmiSpec(), status))).toMatchObject({ failure: { reason }, live: undefined });
  });

  test('of sockets has to wait until those before have been plugged in', () => {
    const plugging = started(vmiSpec(), { conditions: [condition('HotVCPUChange', 'True')] });
    expect(plan(domainOf({ cpu: { sockets: 2 } }), true, plugging).failure?.message).toMatch(
      /another CPU hotplug is in progress/,
    );
  });

  test('of a VMI that is leaving is reported, and not made live', () => {
    const going = {
      ...started(vmiSpec()),
      metadata: { ...started(vmiSpec()).metadata, deletionTimestamp: '2026-05-04T10:00:00Z' },
    };
    expect(plan(vmiSpec({ hostname: 'other' }), true, going)).toEqual(NOT_LIVE_CHANGE);
    expect(plan(domainOf({ cpu: { sockets: 2 } }), true, going)).toEqual(UNCHANGED);
  });
});

describe('room to grow', () => {
  test('is four times what the VMI starts with', () => {
    expect(withHotplugCapacity(vmiSpec(), kubevirt()).domain).toMatchObject({
      cpu: { sockets: 1, maxSockets: 4 },
      memory: { maxGuest: '8Gi' },
    });
  });

  test('follows the VM itself if it sets it', () => {
    const own = domainOf({ cpu: { sockets: 1, maxSockets: 2 }, memory: { guest: '2Gi', maxGuest: '5Gi' } });
    expect(withHotplugCapacity(own, kubevirt()).domain).toMatchObject({
      cpu: { maxSockets: 2 },
      memory: { maxGuest: '5Gi' },
    });
  });

  test('is none for a small VMI, and none under Stage', () => {
    expect(withHotplugCapacity(domainOf({ memory: { guest: '512Mi' } }), kubevirt()).domain.memory).toEqual({
      guest: '512Mi',
    });
    const staged = kubevirt({ vmRolloutStrategy: 'Stage' });
    expect(withHotplugCapacity(vmiSpec(), staged)).toEqual(vmiSpec());
  });

  test('is at most 512 vCPUs, and never less than there are', () => {
    expect(roomOf({ sockets: 32, cores: 2, threads: 3 })).toBe(85);
    expect(roomOf({ sockets: 100, cores: 8, threads: 1 })).toBe(100);
  });

  test('comes from the requested resources if nothing else is said', () => {
    const domain = { devices: {}, resources: { requests: { memory: '2Gi', cpu: '1500m' } } };
    expect(withHotplugCapacity({ domain }, kubevirt()).domain).toMatchObject({
      cpu: { sockets: 2, cores: 1, threads: 1, maxSockets: 8 },
      memory: { guest: '2Gi', maxGuest: '8Gi' },
    });
  });
});

/** A spec with hotpluggable claims of these names, and the fixed volume `root`. */
function plug(disk: object, ...names: string[]): VmiSpec {
  const volumes = names.map((name) => ({ name, persistentVolumeClaim: { claimName: name, hotpluggable: true } }));
  const disks = [{ name: 'root', disk: {} }, ...names.map((name) => ({ name, ...disk }))];
  const root = { name: 'root', containerDisk: { image: 'x' } };
  return vmiSpec({ volumes: [root, ...volumes], domain: { ...vmiSpec().domain, devices: { disks } } });
}
const emptyDrive = (name: string): VmiSpec => {
  const spec = plug({ cdrom: {} }, name);
  return { ...spec, volumes: spec.volumes!.filter((volume) => volume.name !== name) };
};
const SCSI = { disk: { bus: 'scsi' } };

describe('a hotpluggable volume', () => {
  test.each([
    ['is plugged in', plug(SCSI), plug(SCSI, 'data')],
    ['is plugged out', plug(SCSI, 'data'), plug(SCSI)],
    ['goes into a drive', emptyDrive('iso'), plug({ cdrom: {} }, 'iso')],
    ['goes out of a drive', plug({ cdrom: {} }, 'iso'), emptyDrive('iso')],
  ])('%s under any strategy', (_what, from, to) => {
    for (const liveUpdate of [true, false]) {
      const { restartRequired, live, failure } = plan(to, liveUpdate, started(from));
      expect([restartRequired, failure]).toEqual(['none', undefined]);
      expect([live?.volumes, live?.domain['devices']]).toEqual([to.volumes, to.domain['devices']]);
    }
  });

  test('whose claim changes goes first, and comes back in the next pass', () => {
    const to = plug(SCSI, 'data');
    to.volumes![1] = { name: 'data', persistentVolumeClaim: { claimName: 'other', hotpluggable: true } } as Volume;
    const vmi = started(plug(SCSI, 'data'));
    const first = plan(to, true, vmi).live!;
    expect(first.volumes).toHaveLength(1);
    expect(plan(to, true, { ...vmi, spec: first }).live?.volumes).toEqual(to.volumes);
  });

  test.each([
    [{ disk: {} }, /\[\] is not permitted/],
    [{ disk: { bus: 'sata' } }, /\[sata\] is not permitted/],
    [{ lun: { bus: 'virtio' } }, /LUN \[data\] requires bus to be 'scsi'/],
    [{ cdrom: { bus: 'sata' } }, /requires diskDevice of type/],
    [{ ...SCSI, dedicatedIOThread: true }, /requires virtio bus for IOThreads/],
  ])('is refused for a device %j, which needs no restart', (device, why) => {
    const { restartRequired, live, failure } = plan(plug(device, 'data'), true, started(plug(SCSI)));
    expect([restartRequired, live, failure?.reason]).toEqual(['none', undefined, 'HotPlugVolumeError']);
    expect(failure?.message).toMatch(why);
  });

  test('leaves with its drive at a restart only', () => {
    expect(whyOf(plan(plug(SCSI), true, started(plug({ cdrom: {} }, 'iso'))))).toBe(NOT_LIVE);
  });

  test('waits without a word in a VM whose volumes are migrated', () => {
    const vm = aVm({ template: { spec: plug(SCSI, 'data') }, updateVolumesStrategy: 'Migration' });
    expect(planRollout(vm, started(plug(SCSI)), true)).toEqual(UNCHANGED);
  });
});
