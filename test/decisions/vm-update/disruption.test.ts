import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { VmTemplate, Disruption } from '../../../api/pool/pool.ts';
import {
  disruptionBetween,
  DISRUPTIONS,
  exceeds,
  mayMigrateFor,
  startsOrStops,
  waitsForRestart,
} from '../../../decisions/vm-update/disruption.ts';
import { anyPower, anyTemplate } from '../fixtures/templates.ts';

/** A template with these fields in its VMI spec. */
const vmi = (spec: object, domain: object = {}): VmTemplate => ({
  spec: { runStrategy: 'Always', template: { spec: { domain: { devices: {}, ...domain }, ...spec } } },
});
const vm = (spec: object): VmTemplate => ({ spec: { ...vmi({}).spec, ...spec } });
const annotated = (annotations: Record<string, string>): VmTemplate =>
  vm({ template: { ...vmi({}).spec.template, metadata: { annotations } } });
const cpu = (cpu: object): VmTemplate => vmi({}, { cpu });
const memory = (memory: object): VmTemplate => vmi({}, { memory });
const toleration = { key: 'gpu', operator: 'Exists' };
const onZone = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } };
const disk = (name: string, size = '1Gi') => ({
  metadata: { name },
  spec: { storage: { resources: { requests: { storage: size } } } },
});
const sized = (size: string, cpu: object): VmTemplate => ({
  spec: { ...vmi({}, { cpu }).spec, dataVolumeTemplates: [disk('a', size)] },
});
const labelled = ({ metadata, spec }: ReturnType<typeof disk>): object => ({
  metadata: { ...metadata, labels: { tier: 'db' }, annotations: { a: 'b' } },
  spec,
});
const urgent = ({ metadata, spec }: ReturnType<typeof disk>): object => ({
  metadata,
  spec: { ...spec, priorityClassName: 'high' },
});
const filled = (url: string): object => ({
  metadata: { name: 'a' },
  spec: { ...disk('a').spec, source: { http: { url } } },
});
const stored = (storage: object): object => ({ metadata: { name: 'a' }, spec: { storage } });

interface NicOf {
  name: string;
  nic: object;
  network: object;
}
const nics = (...all: NicOf[]): VmTemplate =>
  vmi(
    { networks: all.map(({ name, network }) => ({ name, ...network })) },
    { devices: { interfaces: all.map(({ name, nic }) => ({ name, ...nic })) } },
  );
const NIC: NicOf = { name: 'default', nic: { masquerade: {} }, network: { pod: {} } };
const BLUE: NicOf = { name: 'blue', nic: { bridge: {} }, network: { multus: { networkName: 'blue' } } };

/** A template with disks of its VMs' own that may be plugged in and out. */
const volumes = (...names: string[]): VmTemplate => ({
  spec: {
    ...vmi(
      { volumes: names.map((name) => ({ name, dataVolume: { name, hotpluggable: true } })) },
      { devices: { disks: names.map((name) => ({ name, disk: { bus: 'scsi' } })) } },
    ).spec,
    dataVolumeTemplates: names.map((name) => disk(name)),
  },
});
/** A template with claims in place of disks of its VMs' own. */
const plug = (device: object, ...names: string[]): VmTemplate =>
  vmi(
    { volumes: names.map((name) => ({ name, persistentVolumeClaim: { claimName: name, hotpluggable: true } })) },
    { devices: { disks: names.map((name) => ({ name, ...device })) } },
  );
const CDROM = { cdrom: { bus: 'sata' } };
const emptyDrive = (name: string): VmTemplate => vmi({ volumes: [] }, { devices: { disks: [{ name, ...CDROM }] } });
const withoutDisks = ({ spec }: VmTemplate): VmTemplate =>
  vmi({ volumes: (spec.template.spec as { volumes: object[] }).volumes });
const migrating = ({ spec }: VmTemplate): VmTemplate => ({ spec: { ...spec, updateVolumesStrategy: 'Migration' } });

describe('the disruption of a change', () => {
  const cases: [title: string, from: VmTemplate, to: VmTemplate, live: Disruption, staged: Disruption][] = [
    ['nothing', vmi({}), vmi({}), 'None', 'None'],
    [
      'labels and annotations of the VM',
      vmi({}),
      { ...vmi({}), metadata: { labels: { a: 'b' }, annotations: { c: 'd' } } },
      'None',
      'None',
    ],
    ['annotations of the VMI', annotated({}), annotated({ a: 'b' }), 'None', 'None'],
    [
      'a request to restart',
      annotated({ a: 'b' }),
      annotated({ a: 'b', 'drover.dev/restarted-at': '2026-01-01T00:00:00Z' }),
      'Restart',
      'Restart',
    ],
    [
      'a later one',
      annotated({ 'drover.dev/restarted-at': '1' }),
      annotated({ 'drover.dev/restarted-at': '2' }),
      'Restart',
      'Restart',
    ],
    ['power', vm({ runStrategy: 'Always' }), vm({ runStrategy: 'Halted' }), 'None', 'None'],
    ['how volumes are changed', vm({}), vm({ updateVolumesStrategy: 'Migration' }), 'None', 'None'],
    ['sockets', cpu({ sockets: 2 }), cpu({ sockets: 4 }), 'Live', 'Restart'],
    ['sockets, if there were none', cpu({ cores: 2 }), cpu({ cores: 2, sockets: 2 }), 'Live', 'Restart'],
    ['sockets, if there was no cpu', vmi({}), cpu({ sockets: 2 }), 'Restart', 'Restart'],
    ['sockets no more', cpu({ cores: 2, sockets: 2 }), cpu({ cores: 2 }), 'Restart', 'Restart'],
    ['room for sockets', cpu({ sockets: 2 }), cpu({ sockets: 2, maxSockets: 8 }), 'Restart', 'Restart'],
    ['cores', cpu({ sockets: 2, cores: 1 }), cpu({ sockets: 2, cores: 2 }), 'Restart', 'Restart'],
    ['cores and sockets', cpu({ sockets: 2, cores: 1 }), cpu({ sockets: 4, cores: 2 }), 'Restart', 'Restart'],
    ['memory', memory({ guest: '1Gi' }), memory({ guest: '2Gi' }), 'Live', 'Restart'],
    ['memory, if there was none', vmi({}), memory({ guest: '2Gi' }), 'Live', 'Restart'],
    ['memory no more', memory({ guest: '1Gi' }), vmi({}), 'Restart', 'Restart'],
    [
      'requests by another name',
      vmi({}, { resources: { requests: { memory: '1Gi', cpu: '500m' }, limits: { cpu: 1 } } }),
      vmi({}, { resources: { requests: { memory: '1024Mi', cpu: 0.5 }, limits: { cpu: '1' } } }),
      'None',
      'None',
    ],
    [
      'null, and empty lists and maps',
      vmi({}),
      vmi({ nodeSelector: null, tolerations: [], volumes: null, accessCredentials: [] }, { cpu: null, resources: {} }),
      'None',
      'None',
    ],
    ['an empty object that is a choice', vmi({}), vmi({}, { devices: { rng: {} } }), 'Restart', 'Restart'],
    ['a default that is set', vmi({}), vmi({}, { devices: { useVirtioTransitional: false } }), 'Restart', 'Restart'],
    [
      'what looks like a quantity in a text',
      annotated({ 'hooks.kubevirt.io/memory': '1Gi' }),
      annotated({ 'hooks.kubevirt.io/memory': '1024Mi' }),
      'Restart',
      'Restart',
    ],
    [
      'a disk by another name for its storage',
      vm({ dataVolumeTemplates: [stored({ storageClassName: 'fast', accessModes: ['ReadWriteOnce'] })] }),
      vm({
        dataVolumeTemplates: [
          stored({ accessModes: ['ReadWriteOnce'], selector: null, resources: {}, storageClassName: 'fast' }),
        ],
      }),
      'None',
      'None',
    ],
    ['memory by another name', memory({ guest: '1Gi' }), memory({ guest: '1024Mi' }), 'None', 'None'],
    ['room for memory', memory({ guest: '1Gi' }), memory({ guest: '1Gi', maxGuest: '4Gi' }), 'Restart', 'Restart'],
    [
      'huge pages',
      memory({ guest: '1Gi' }),
      memory({ guest: '1Gi', hugepages: { pageSize: '2Mi' } }),
      'Restart',
      'Restart',
    ],
    ['node selector', vmi({}), vmi({ nodeSelector: { zone: 'a' } }), 'Live', 'Restart'],
    ['node selector no more', vmi({ nodeSelector: { zone: 'a' } }), vmi({}), 'Live', 'Restart'],
    ['affinity', vmi({}), vmi({ affinity: onZone }), 'Live', 'Restart'],
    ['tolerations', vmi({ tolerations: [toleration] }), vmi({ tolerations: [] }), 'Live', 'Restart'],
    [
      'all that is live',
      cpu({ sockets: 1 }),
      vmi({ affinity: onZone, tolerations: [toleration] }, { cpu: { sockets: 2 } }),
      'Live',
      'Restart',
    ],
    ['host name', vmi({ hostname: 'a' }), vmi({ hostname: 'b' }), 'Restart', 'Restart'],
    [
      'host name beside what is live',
      vmi({ hostname: 'a' }),
      vmi({ hostname: 'b', nodeSelector: { zone: 'a' } }),
      'Restart',
      'Restart',
    ],
    ['machine type', vmi({}), vmi({}, { machine: { type: 'q35' } }), 'Restart', 'Restart'],
    [
      'an image',
      vmi({ volumes: [{ name: 'a', containerDisk: { image: 'a:1' } }] }),
      vmi({ volumes: [{ name: 'a', containerDisk: { image: 'a:2' } }] }),
      'Restart',
      'Restart',
    ],
    [
      'instance type',
      vm({ instancetype: { name: 'small' } }),
      vm({ instancetype: { name: 'large' } }),
      'Restart',
      'Restart',
    ],
    ['preference', vm({}), vm({ preference: { name: 'windows' } }), 'Restart', 'Restart'],
    [
      'annotations of a hook',
      annotated({}),
      annotated({ 'hooks.kubevirt.io/hookSidecars': '[]' }),
      'Restart',
      'Restart',
    ],
    [
      'of a network plugin',
      annotated({}),
      annotated({ 'net1.ovn.kubernetes.io/ip_address': '1' }),
      'Restart',
      'Restart',
    ],
    ['of Multus', annotated({}), annotated({ 'k8s.v1.cni.cncf.io/networks': '[]' }), 'Restart', 'Restart'],
    ['of Ignition', annotated({ 'kubevirt.io/ignitiondata': 'a' }), annotated({}), 'Restart', 'Restart'],
    ['that describe', annotated({}), annotated({ 'vm.kubevirt.io/os': 'rhel9' }), 'None', 'None'],
    ['an interface more', nics(NIC), nics(NIC, BLUE), 'Live', 'Restart'],
    [
      'an interface more, of another binding',
      nics(NIC),
      nics(NIC, { ...BLUE, nic: { macvtap: {} } }),
      'Restart',
      'Restart',
    ],
    ['an interface beside the one that KubeVirt makes', vmi({}), nics(BLUE), 'Restart', 'Restart'],
    ['an interface less', nics(NIC, BLUE), nics(NIC), 'Restart', 'Restart'],
    [
      'an interface that is absent',
      nics(NIC, BLUE),
      nics(NIC, { ...BLUE, nic: { bridge: {}, state: 'absent' } }),
      'Live',
      'Restart',
    ],
    [
      'an interface in another network',
      nics(NIC, BLUE),
      nics(NIC, { ...BLUE, network: { multus: { networkName: 'green' } } }),
      'Live',
      'Restart',
    ],
    [
      'an interface of another model',
      nics(NIC, BLUE),
      nics(NIC, { ...BLUE, nic: { bridge: {}, model: 'e1000' } }),
      'Restart',
      'Restart',
    ],
    ['a hotpluggable volume more', volumes(), volumes('data'), 'Live', 'Restart'],
    ['a hotpluggable volume less', volumes('data'), volumes(), 'Live', 'Restart'],
    [
      'a hotpluggable volume more, while volumes are migrated',
      volumes(),
      migrating(volumes('data')),
      'Restart',
      'Restart',
    ],
    ['a hotpluggable LUN more', volumes(), plug({ lun: { bus: 'scsi' } }, 'data'), 'Live', 'Restart'],
    ['a hotpluggable LUN on virtio more', volumes(), plug({ lun: { bus: 'virtio' } }, 'data'), 'Restart', 'Restart'],
    ['a hotpluggable volume more whose disk has no bus', volumes(), plug({ disk: {} }, 'data'), 'Restart', 'Restart'],
    ['a hotpluggable volume more on SATA', volumes(), plug({ disk: { bus: 'sata' } }, 'data'), 'Restart', 'Restart'],
    [
      'a hotpluggable volume more with an I/O thread of its own, not on virtio',
      volumes(),
      plug({ disk: { bus: 'scsi' }, dedicatedIOThread: true }, 'data'),
      'Restart',
      'Restart',
    ],
    ['a hotpluggable volume more without a disk', volumes(), withoutDisks(plug({}, 'data')), 'Restart', 'Restart'],
    ['a disc into a drive', emptyDrive('iso'), plug(CDROM, 'iso'), 'Live', 'Restart'],
    ['a disc out of a drive', plug(CDROM, 'iso'), emptyDrive('iso'), 'Live', 'Restart'],
    ['a drive more, with a disc', volumes(), plug(CDROM, 'iso'), 'Restart', 'Restart'],
    ['a drive less, with its disc', plug(CDROM, 'iso'), volumes(), 'Restart', 'Restart'],
    ['a field that nobody knows', vm({}), vm({ unheardOf: 1 }), 'Restart', 'Restart'],
    ['a disk more', vm({}), vm({ dataVolumeTemplates: [disk('a')] }), 'Restart', 'Restart'],
    [
      'a disk less',
      vm({ dataVolumeTemplates: [disk('a'), disk('b')] }),
      vm({ dataVolumeTemplates: [disk('a')] }),
      'Restart',
      'Restart',
    ],
    [
      'a larger disk',
      vm({ dataVolumeTemplates: [disk('a')] }),
      vm({ dataVolumeTemplates: [disk('a', '2Gi')] }),
      'Live',
      'Live',
    ],
    ['a larger disk beside sockets', sized('1Gi', { sockets: 1 }), sized('2Gi', { sockets: 2 }), 'Live', 'Restart'],
    ['a larger disk beside cores', sized('1Gi', { cores: 1 }), sized('2Gi', { cores: 2 }), 'Restart', 'Restart'],
    [
      'a larger disk, and another',
      vm({ dataVolumeTemplates: [disk('a')] }),
      vm({ dataVolumeTemplates: [disk('a', '2Gi'), disk('b')] }),
      'Restart',
      'Restart',
    ],
    [
      'a disk in other words',
      vm({ dataVolumeTemplates: [disk('a')] }),
      vm({ dataVolumeTemplates: [disk('a', '1024Mi')] }),
      'None',
      'None',
    ],
    [
      'a smaller disk',
      vm({ dataVolumeTemplates: [disk('a', '2Gi')] }),
      vm({ dataVolumeTemplates: [disk('a')] }),
      'Replace',
      'Replace',
    ],
    [
      'the label of a disk',
      vm({ dataVolumeTemplates: [disk('a')] }),
      vm({ dataVolumeTemplates: [labelled(disk('a'))] }),
      'None',
      'None',
    ],
    [
      'the source of a disk',
      vm({ dataVolumeTemplates: [filled('http://a')] }),
      vm({ dataVolumeTemplates: [filled('http://b')] }),
      'Replace',
      'Replace',
    ],
    [
      'the storage class of a disk',
      vm({ dataVolumeTemplates: [stored({})] }),
      vm({ dataVolumeTemplates: [stored({ storageClassName: 'fast' })] }),
      'Replace',
      'Replace',
    ],
    [
      'the access modes of a disk',
      vm({ dataVolumeTemplates: [stored({ accessModes: ['ReadWriteOnce'] })] }),
      vm({ dataVolumeTemplates: [stored({ accessModes: ['ReadWriteMany'] })] }),
      'Replace',
      'Replace',
    ],
    [
      'how urgently a disk is filled',
      vm({ dataVolumeTemplates: [disk('a')] }),
      vm({ dataVolumeTemplates: [urgent(disk('a'))] }),
      'None',
      'None',
    ],
    [
      'a size if there was none',
      vm({ dataVolumeTemplates: [stored({})] }),
      vm({ dataVolumeTemplates: [disk('a')] }),
      'Live',
      'Live',
    ],
    [
      'a size no more',
      vm({ dataVolumeTemplates: [disk('a')] }),
      vm({ dataVolumeTemplates: [stored({})] }),
      'None',
      'None',
    ],
    [
      'another disk that is recreated beside a new one',
      vm({ dataVolumeTemplates: [disk('a', '2Gi')] }),
      vm({ dataVolumeTemplates: [disk('b'), disk('a')] }),
      'Replace',
      'Replace',
    ],
    [
      'their order',
      vm({ dataVolumeTemplates: [disk('a'), disk('b')] }),
      vm({ dataVolumeTemplates: [disk('b'), disk('a')] }),
      'None',
      'None',
    ],
    ['no disks, in other words', vm({}), vm({ dataVolumeTemplates: [] }), 'None', 'None'],
  ];
  test.each(cases)('%s', (_title, from, to, live, staged) => {
    expect([disruptionBetween(from, to, 'LiveUpdate'), disruptionBetween(from, to, 'Stage')]).toEqual([live, staged]);
  });
});

const BYTES: Record<string, string> = { '1Gi': '1048576Ki', '2Gi': '2048Mi', '2048Mi': '2Gi', '4Gi': '4096Mi' };
const TEXTS = new Set(['annotations', 'labels', 'nodeSelector']);

/** The same template as another tool writes it. */
function respelled<T>(value: T, key = ''): T {
  if (Array.isArray(value)) return value.map((item: unknown) => respelled(item)) as T;
  if (typeof value !== 'object' || value === null)
    return (key === 'guest' ? (BYTES[String(value)] ?? value) : value) as T;
  if (TEXTS.has(key)) return value;
  const inner = Object.entries(value).map(([each, one]) => [each, respelled(one, each)]);
  return Object.fromEntries([['absent', null], ...inner.toReversed(), ['none', []]]) as T;
}

describe('the disruption between any templates', () => {
  const anyPair = fc.tuple(anyTemplate(), anyTemplate());
  const RUNS = { numRuns: 1_000 };

  test('is none between two spellings of one, and no other to a third', () => {
    fc.assert(
      fc.property(anyPair, ([a, b]) => {
        expect(disruptionBetween(a, respelled(a), 'LiveUpdate')).toBe('None');
        expect(disruptionBetween(respelled(a), b, 'LiveUpdate')).toBe(disruptionBetween(a, b, 'LiveUpdate'));
      }),
      RUNS,
    );
  });

  test('is none between equal ones, whatever their power', () => {
    fc.assert(
      fc.property(anyTemplate(), anyPower, (template, power) => {
        const { running: _running, runStrategy: _runStrategy, ...spec } = template.spec;
        const other = { ...template, spec: { ...spec, ...power } } as VmTemplate;
        expect(disruptionBetween(template, other, 'LiveUpdate')).toBe('None');
        expect(startsOrStops(template, other)).toBe(startsOrStops(other, template));
      }),
      RUNS,
    );
  });

  test('is a restart or none under Stage, and a restart exactly if something would be live', () => {
    fc.assert(
      fc.property(anyPair, ([from, to]) => {
        const live = disruptionBetween(from, to, 'LiveUpdate');
        expect(disruptionBetween(from, to, 'Stage')).toBe(live === 'Live' ? 'Restart' : live);
      }),
      RUNS,
    );
  });

  test('is the same in both directions, except for a number that is given up', () => {
    fc.assert(
      fc.property(anyPair, ([from, to]) => {
        const ways = [disruptionBetween(from, to, 'LiveUpdate'), disruptionBetween(to, from, 'LiveUpdate')];
        if (ways[0] !== ways[1]) expect(ways.toSorted()).toEqual(['Live', 'Restart']);
      }),
      RUNS,
    );
  });
});

test('a change of the run strategy alone starts or stops the VM, unless the old field meant the same', () => {
  expect(startsOrStops(vm({ runStrategy: 'Always' }), vm({ runStrategy: 'Halted' }))).toBe(true);
  const running: VmTemplate = { spec: { running: true, template: {} } };
  expect(startsOrStops(running, { spec: { runStrategy: 'Always', template: {} } })).toBe(false);
  expect(startsOrStops(running, { spec: { running: false, template: {} } })).toBe(true);
});

test('the disruptions are in order', () => {
  expect(DISRUPTIONS.map((disruption) => exceeds(disruption, 'Live'))).toEqual([false, false, true, true]);
});

describe('a change that KubeVirt does not make by itself', () => {
  const none = { migrates: false, volumes: false };
  test.each<[title: string, from: VmTemplate, to: VmTemplate, disruption: Disruption]>([
    ['sockets', cpu({ sockets: 1 }), cpu({ sockets: 2 }), 'Restart'],
    ['memory', memory({ guest: '1Gi' }), memory({ guest: '2Gi' }), 'Restart'],
    ['interfaces', nics(NIC), nics(NIC, BLUE), 'Restart'],
    ['volumes', volumes(), volumes('data'), 'Restart'],
    ['where a VMI may run', vmi({}), vmi({ nodeSelector: { zone: 'a' } }), 'Live'],
  ])('%s', (_title, from, to, disruption) => {
    expect(disruptionBetween(from, to, 'LiveUpdate', none)).toBe(disruption);
  });
});

const typed = (name: string): VmTemplate => vm({ instancetype: { name } });

test.each<[title: string, from: VmTemplate, to: VmTemplate, mayMigrate: boolean]>([
  ['sockets', cpu({ sockets: 1 }), cpu({ sockets: 2 }), true],
  ['memory', memory({ guest: '1Gi' }), memory({ guest: '2Gi' }), true],
  ['interfaces', nics(NIC), nics(NIC, BLUE), true],
  ['an instance type, by which all of that may change', typed('small'), typed('large'), true],
  ['volumes', volumes(), volumes('data'), false],
  ['a disk that grows', sized('1Gi', {}), sized('2Gi', {}), false],
  ['where a VMI may run', vmi({}), vmi({ nodeSelector: { zone: 'a' } }), false],
  ['where a VMI may run, and sockets', vmi({}), vmi({ nodeSelector: { zone: 'a' } }, { cpu: { sockets: 2 } }), true],
])('KubeVirt migrates a VMI for some changes alone: %s', (_title, from, to, mayMigrate) => {
  expect(mayMigrateFor(from, to)).toBe(mayMigrate);
});

describe('a VMI is left alone by a change of its VM', () => {
  const waits: [title: string, from: VmTemplate, to: VmTemplate, live: boolean, staged: boolean][] = [
    ['of cores', cpu({ cores: 1 }), cpu({ cores: 2 }), true, true],
    ['of sockets', cpu({ sockets: 1 }), cpu({ sockets: 2 }), false, true],
    ['of interfaces', nics(NIC), nics(NIC, BLUE), false, false],
    ['of the instance type', typed('small'), typed('large'), false, true],
    ['of volumes that are plugged', volumes(), volumes('data'), false, false],
    [
      'of the instance type and of what needs a restart in any case',
      typed('small'),
      { spec: { ...typed('large').spec, template: { spec: { domain: { devices: { rng: {} } } } } } },
      true,
      true,
    ],
  ];
  test.each(waits)('%s', (_title, from, to, live, staged) => {
    expect([waitsForRestart(from, to, 'LiveUpdate'), waitsForRestart(from, to, 'Stage')]).toEqual([live, staged]);
  });
});
