import { parse } from 'yaml';
import { isObject, type Json } from './kept-by-server.ts';

/** A template from which more than one VM, or VMI, may be made. */
interface SharedTemplate {
  /** Path of the VMI's template, such as `spec.template.spec.template`. */
  path: string;
  /** What the template makes, and what keeps it, such as `VMs of the pool`. */
  members: string;
  metadata: { annotations?: Record<string, string> } | undefined;
  spec: Json;
}

/** A field that identifies a VM to others, or that only one VM can have at a time. */
interface Own {
  path: string;
  /** What all would have, such as `the MAC address 02:00:00:00:00:01`. */
  what: string;
  /** What would be right. */
  advice: string;
}

const MAC = /\b(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}\b/i;
const ADDRESS = /\b(?:\d{1,3}\.){3}\d{1,3}\b|\b(?:[0-9a-f]{1,4}:){2,7}(?::?[0-9a-f]{1,4})?\b/i;
/** Annotations that give network plugins an address; a value that names a pool of addresses gives each VM its own. */
const OF_NETWORK = /(?:ip|mac|hw|addr|network)/i;
const OF_POOLS = /pool/i;
/** cloud-init's keys, at the beginning of a line, that give a guest what must be its own. */
const IN_USER_DATA: readonly [RegExp, string][] = [
  [/^\s*(?:hostname|fqdn|local-hostname):\s*\S/m, 'the host name in its user data'],
  [/^\s*ssh_keys:|ssh_host_\w+_key/m, 'the SSH host keys in its user data'],
  [/\/etc\/machine-id/, 'the machine-id in its user data'],
];

/** Notes on what a template gives to all its VMs although each must have its own. */
export const sharedIdentity = (template: SharedTemplate): string[] =>
  [
    ...ofAnnotations(template),
    ...ofSpec(template),
    ...ofDevices(template),
    ...ofClaims(template),
    ...ofHostDisks(template),
    ...ofCloudInit(template),
  ].map(({ path, what, advice }) => `${template.path}.${path}: all ${template.members} get ${what}: ${advice}`);

function ofAnnotations({ metadata }: SharedTemplate): Own[] {
  return Object.entries(metadata?.annotations ?? {}).flatMap(([key, value]) => {
    if (!OF_NETWORK.test(key) || OF_POOLS.test(key)) return [];
    const address = addressIn(value);
    const advice = 'leave it out, or name a pool of addresses';
    return address === undefined ? [] : [{ path: `metadata.annotations["${key}"]`, what: address, advice }];
  });
}

function addressIn(text: string): string | undefined {
  const [mac] = MAC.exec(text) ?? [];
  if (mac !== undefined) return `the MAC address ${mac}`;
  const [address] = ADDRESS.exec(text) ?? [];
  return address === undefined ? undefined : `the address ${address}`;
}

function ofSpec({ spec }: SharedTemplate): Own[] {
  const { firmware, chassis } = objectOf(spec['domain']);
  const fields: [string, unknown, string, string][] = [
    ['spec.hostname', spec['hostname'], 'the host name', 'without it, each has its own name'],
    ['spec.domain.firmware.uuid', objectOf(firmware)['uuid'], 'the firmware UUID', 'without it, each has its own'],
    ['spec.domain.firmware.serial', objectOf(firmware)['serial'], 'the serial number', 'leave it out'],
    ['spec.domain.chassis.serial', objectOf(chassis)['serial'], 'the serial number of the chassis', 'leave it out'],
    ['spec.domain.chassis.asset', objectOf(chassis)['asset'], 'the asset tag', 'leave it out'],
  ];
  return fields.flatMap(([path, value, what, advice]) =>
    typeof value === 'string' && value !== '' ? [{ path, what: `${what} ${value}`, advice }] : [],
  );
}

function ofDevices({ spec }: SharedTemplate): Own[] {
  const devices = objectOf(objectOf(spec['domain'])['devices']);
  const one = 'each takes another one, and those beyond what the nodes have wait';
  const devicesOf = (kind: string): Own[] =>
    listOf(devices[kind]).flatMap(({ deviceName }, index) =>
      typeof deviceName === 'string'
        ? [{ path: `spec.domain.devices.${kind}[${index}]`, what: `a device ${deviceName}`, advice: one }]
        : [],
    );
  const interfaces = listOf(devices['interfaces']).flatMap(({ macAddress, sriov }, index): Own[] => {
    const path = `spec.domain.devices.interfaces[${index}]`;
    const own: Own[] = [];
    if (typeof macAddress === 'string')
      own.push({
        path: `${path}.macAddress`,
        what: `the MAC address ${macAddress}`,
        advice: 'without it, each has its own',
      });
    if (isObject(sriov)) own.push({ path: `${path}.sriov`, what: 'a virtual function', advice: one });
    return own;
  });
  return [...interfaces, ...devicesOf('hostDevices'), ...devicesOf('gpus')];
}

/** Devices that ResourceClaims reserve: a named claim is one object, and a template makes one for each pod. */
const ofClaims = ({ spec }: SharedTemplate): Own[] =>
  listOf(spec['resourceClaims']).flatMap(({ resourceClaimName: claim }, index) =>
    typeof claim === 'string'
      ? [
          {
            path: `spec.resourceClaims[${index}].resourceClaimName`,
            what: `the ResourceClaim ${claim}`,
            advice: 'name a ResourceClaimTemplate (resourceClaimTemplateName), and each has its own',
          },
        ]
      : [],
  );

/** Files of the nodes: VMs of one node get the same, unless the disk is meant to be shared. */
function ofHostDisks({ spec }: SharedTemplate): Own[] {
  const disks = listOf(objectOf(objectOf(spec['domain'])['devices'])['disks']);
  return listOf(spec['volumes']).flatMap(({ name, hostDisk }, index) => {
    const { path } = objectOf(hostDisk);
    const isShared = disks.some((disk) => disk['name'] === name && disk['shareable'] === true);
    if (typeof path !== 'string' || isShared) return [];
    const what = `the file ${path} of the node that they run on`;
    return [{ path: `spec.volumes[${index}].hostDisk`, what, advice: 'a DataVolumeTemplate gives each its own disk' }];
  });
}

function ofCloudInit({ spec }: SharedTemplate): Own[] {
  return listOf(spec['volumes']).flatMap((volume, index) =>
    ['cloudInitNoCloud', 'cloudInitConfigDrive'].flatMap((source): Own[] => {
      const init = objectOf(volume[source]);
      const path = `spec.volumes[${index}].${source}`;
      const network = addressIn(ownAddresses(networkOf(textOf(init, 'networkData'))).join(' '));
      const advice = 'give each its own Secret by nameGeneration, or leave it to DHCP';
      return [
        ...(network === undefined
          ? []
          : [{ path: `${path}.networkData`, what: `${network} in its network data`, advice }]),
        ...IN_USER_DATA.filter(([sign]) => sign.test(textOf(init, 'userData'))).map(([, what]) => ({
          path: `${path}.userData`,
          what,
          advice: 'give each its own Secret by nameGeneration, or leave it out',
        })),
      ];
    }),
  );
}

/** What network data say, in either of cloud-init's formats; null if that can't be read. */
function networkOf(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return null;
  }
}

/** Addresses that a guest is to have, without the addresses that it only needs to know. */
function ownAddresses(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap(ownAddresses);
  if (!isObject(node) || node['type'] === 'nameserver') return [];
  return Object.entries(node).flatMap(([key, value]) => {
    if (OF_OTHERS.has(key)) return [];
    return OF_GUEST.has(key) ? [value].flat().filter((one) => typeof one === 'string') : ownAddresses(value);
  });
}

const OF_GUEST = new Set(['address', 'addresses', 'macaddress', 'mac_address']);
const OF_OTHERS = new Set(['nameservers', 'routes', 'match']);

/** Inline data of cloud-init, which may be encoded. */
function textOf(init: Json, field: string): string {
  const [plain, encoded] = [init[field], init[`${field}Base64`]];
  if (typeof plain === 'string') return plain;
  return typeof encoded === 'string' ? Buffer.from(encoded, 'base64').toString('utf8') : '';
}

const objectOf = (value: unknown): Json => (isObject(value) ? value : {});
const listOf = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isObject) : []);
