import type { KubeObject, Stored } from '../../api/objects.ts';
import { vmOwner } from '../../simulator/objects/vm-owner.ts';

/** What KubeVirt reports of a running VM, in realistic size: to measure how much of it drover keeps. */

const SINCE = '2026-11-21T04:13:46Z';
const LATER = '2026-11-21T04:14:02Z';

const CLOUD_INIT = `#cloud-config
hostname: guest
users:
  - name: fedora
    sudo: ALL=(ALL) NOPASSWD:ALL
    ssh_authorized_keys:
      - ssh-ed25519 ${'A'.repeat(68)} ops@example
packages: [qemu-guest-agent, chrony, node_exporter]
runcmd:
  - [systemctl, enable, --now, qemu-guest-agent]
  - [systemctl, enable, --now, node_exporter]
`;

const port = (name: string, number: number) => ({ name, port: number, protocol: 'TCP' });

const DEVICES = {
  autoattachPodInterface: true,
  disks: [
    { name: 'root', bootOrder: 1, disk: { bus: 'virtio' } },
    { name: 'cloud-init', disk: { bus: 'virtio' } },
    { name: 'data', disk: { bus: 'virtio' }, serial: 'data' },
  ],
  interfaces: [{ name: 'default', masquerade: {}, model: 'virtio', ports: [port('ssh', 22), port('http', 80)] }],
  rng: {},
  networkInterfaceMultiqueue: true,
};

const GUEST = {
  domain: {
    cpu: { cores: 1, sockets: 2, threads: 1, maxSockets: 8 },
    memory: { guest: '2Gi', maxGuest: '8Gi' },
    machine: { type: 'q35' },
    devices: DEVICES,
  },
  evictionStrategy: 'LiveMigrate',
  terminationGracePeriodSeconds: 180,
  nodeSelector: { 'node-role.example/virtualization': 'true' },
  tolerations: [{ key: 'virtualization', operator: 'Exists', effect: 'NoSchedule' }],
  readinessProbe: { tcpSocket: { port: 80 }, initialDelaySeconds: 20, periodSeconds: 10, timeoutSeconds: 5 },
  networks: [{ name: 'default', pod: {} }],
  volumes: [
    { name: 'root', containerDisk: { image: 'registry.example/images/fedora:42', imagePullPolicy: 'IfNotPresent' } },
    { name: 'cloud-init', cloudInitNoCloud: { userData: CLOUD_INIT } },
    { name: 'data', emptyDisk: { capacity: '10Gi' } },
  ],
};

/** A pool's template; versions differ in labels only. */
export const template = (version: string) => ({
  metadata: {
    labels: { app: 'shop', tier: 'web' },
    annotations: { 'example.com/team': 'shop', 'example.com/runbook': 'https://wiki.example.com/shop/runbook' },
  },
  spec: {
    runStrategy: 'Always',
    template: {
      metadata: {
        labels: { app: 'shop', tier: 'web', 'example.com/version': version },
        annotations: { 'example.com/team': 'shop' },
      },
      spec: GUEST,
    },
  },
});

const yes = (type: string, lastTransitionTime: string | null = LATER): object => ({
  type,
  status: 'True',
  lastProbeTime: null,
  lastTransitionTime,
});

const noSnapshot = ({ name }: { name: string }): object => ({
  name,
  enabled: false,
  reason: `Snapshot is not supported for this volumeSource type [${name}]`,
});

/** `desiredGeneration` is never exceeded: there is no KubeVirt here to update it. */
export const runningVmStatus = () => ({
  conditions: [
    yes('Ready'),
    yes('LiveMigratable', null),
    yes('StorageLiveMigratable', null),
    { ...yes('DataVolumesReady', null), reason: 'AllDVsReady', message: 'All of the DVs are bound and ready' },
    yes('AgentConnected'),
  ],
  created: true,
  ready: true,
  desiredGeneration: Number.MAX_SAFE_INTEGER,
  observedGeneration: 1,
  printableStatus: 'Running',
  runStrategy: 'Always',
  volumeSnapshotStatuses: GUEST.volumes.map(noSnapshot),
});

interface Template {
  metadata: { labels: Record<string, string>; annotations: Record<string, string> };
  spec: typeof GUEST;
}

const hash = (text: string): number => Buffer.from(text).reduce((sum, byte) => (sum * 31 + byte) % 2 ** 24, 7);
const byteOf = (number: number, shift: number): number => (number >> shift) & 255;

/** The VMI of this VM, with what KubeVirt's defaults and its node add. */
export function runningVmi(vm: Stored): KubeObject {
  const { metadata, spec } = (vm as unknown as { spec: { template: Template } }).spec.template;
  const { name, namespace, uid } = vm.metadata;
  const number = hash(name);
  const node = `node-${number % 200}.example.com`;
  const bytes = [16, 8, 0].map((shift) => byteOf(number, shift));
  const mac = `02:00:00:${bytes.map((byte) => byte.toString(16).padStart(2, '0')).join(':')}`;
  const ip = `10.${bytes.join('.')}`;
  const times = ['Pending', 'Scheduling', 'Scheduled', 'Running'];
  return {
    metadata: {
      name,
      namespace: namespace!,
      labels: { ...metadata.labels, 'kubevirt.io/nodeName': node, 'vm.kubevirt.io/name': name },
      annotations: {
        ...metadata.annotations,
        'kubevirt.io/latest-observed-api-version': 'v1',
        'kubevirt.io/storage-observed-api-version': 'v1',
        'kubevirt.io/vm-generation': '1',
        'vm.kubevirt.io/os': 'fedora',
      },
      finalizers: ['kubevirt.io/virtualMachineControllerFinalize', 'foregroundDeleteVirtualMachine'],
      ownerReferences: [vmOwner({ name, uid })],
    },
    spec: { ...spec, architecture: 'amd64', domain: domainOf(spec, uid, mac) },
    status: {
      activePods: { [uid]: node },
      conditions: [yes('Ready'), yes('LiveMigratable', null), yes('StorageLiveMigratable', null)],
      currentCPUTopology: { cores: 1, sockets: 2, threads: 1 },
      guestOSInfo: {
        id: 'fedora',
        kernelRelease: '6.14.0-63.fc42.x86_64',
        kernelVersion: '#1 SMP PREEMPT_DYNAMIC Mon Mar 24 19:53:37 UTC 2026',
        machine: 'x86_64',
        name: 'Fedora Linux',
        prettyName: 'Fedora Linux 42 (Cloud Edition)',
        version: '42 (Cloud Edition)',
        versionId: '42',
      },
      interfaces: [
        {
          infoSource: 'domain, guest-agent',
          interfaceName: 'eth0',
          ipAddress: ip,
          ipAddresses: [ip, `fe80::${(number & 65535).toString(16)}`],
          linkState: 'up',
          mac,
          name: 'default',
          podInterfaceName: 'eth0',
          queueCount: 2,
        },
      ],
      launcherContainerImageVersion: `quay.io/kubevirt/virt-launcher@sha256:${'0'.repeat(64)}`,
      machine: { type: 'pc-q35-rhel9.6.0' },
      memory: { guestAtBoot: '2Gi', guestCurrent: '2Gi', guestRequested: '2Gi', memoryOverhead: '247Mi' },
      migrationMethod: 'BlockMigration',
      migrationTransport: 'Unix',
      nodeName: node,
      phase: 'Running',
      phaseTransitionTimestamps: times.map((phase) => ({ phase, phaseTransitionTimestamp: SINCE })),
      qosClass: 'Burstable',
      runtimeUser: 107,
      selinuxContext: `system_u:object_r:container_file_t:s0:c${number % 1000},c${(number >> 3) % 1000}`,
      virtualMachineRevisionName: `revision-start-vm-${uid}-1`,
      volumeStatus: [
        { name: 'cloud-init', size: 1_048_576, target: 'vdb' },
        { containerDiskVolume: { checksum: number }, name: 'root', target: 'vda' },
        { name: 'data', size: 10_737_418_240, target: 'vdc' },
      ],
    },
  };
}

function domainOf(spec: typeof GUEST, uid: string, macAddress: string): object {
  const { devices } = spec.domain;
  return {
    ...spec.domain,
    cpu: { ...spec.domain.cpu, model: 'host-model' },
    features: { acpi: { enabled: true }, smm: { enabled: true } },
    firmware: { bootloader: { efi: { secureBoot: true } }, serial: uid, uuid: uid },
    machine: { type: 'pc-q35-rhel9.6.0' },
    resources: { requests: { memory: '2Gi' } },
    devices: { ...devices, interfaces: devices.interfaces.map((one) => ({ ...one, macAddress })) },
  };
}
