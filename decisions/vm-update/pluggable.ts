import { canonical } from '../lib/canonical-json.ts';
import { asObject, field, listOf, type Json } from '../lib/json.ts';
import { byName } from '../merge/named-items.ts';
import { pluggedVolumes } from './pluggable-volumes.ts';

/** Names of interfaces and volumes that KubeVirt plugs into or out of a running VMI for a change of its VM. */
export interface Plugged {
  interfaces: ReadonlySet<string>;
  volumes: ReadonlySet<string>;
  /** Names of the DataVolumes of these volumes. */
  disks: ReadonlySet<unknown>;
}

/**
 * Returns what KubeVirt plugs for the change from one VirtualMachine's spec to another: interfaces that come with a
 * network of Multus, change their state, or go to another network; and volumes (`pluggedVolumes`). An interface that
 * goes without its state `absent` needs a restart, as does one where KubeVirt has made the only one.
 */
export function pluggedBetween(fromVm: unknown, toVm: unknown): Plugged {
  const [from, to] = [vmiSpec(fromVm), vmiSpec(toVm)];
  // KubeVirt plugs no volumes into a VM whose volumes it migrates (`HandleDeclarativeVolumes`).
  const volumes = field(toVm, 'updateVolumesStrategy') === 'Migration' ? new Set<string>() : pluggedVolumes(from, to);
  const all = [...listOf(from['volumes']), ...listOf(to['volumes'])];
  const disks = all
    .filter((one) => volumes.has(String(field(one, 'name'))))
    .map((one) => field(one, 'dataVolume', 'name'));
  return { interfaces: interfacesBetween(from, to), volumes, disks: new Set(disks) };
}

const vmiSpec = (vm: unknown): Json => asObject(field(vm, 'template', 'spec'));

export function withoutPlugged(spec: Json, { interfaces, volumes }: Plugged): Json {
  if (interfaces.size === 0 && volumes.size === 0) return spec;
  const domain = asObject(spec['domain']);
  const devices = asObject(domain['devices']);
  return {
    ...spec,
    networks: without(spec['networks'], interfaces),
    volumes: without(spec['volumes'], volumes),
    domain: {
      ...domain,
      devices: {
        ...devices,
        interfaces: without(devices['interfaces'], interfaces),
        disks: without(devices['disks'], volumes),
      },
    },
  };
}

/** Returns the list without the items of these names; undefined if none is left. */
function without(list: unknown, names: ReadonlySet<string>): unknown {
  if (!Array.isArray(list)) return list;
  const rest = list.filter((item: unknown) => !names.has(String(field(item, 'name'))));
  return rest.length === 0 ? undefined : rest;
}

const HOTPLUGGED_BINDINGS = ['bridge', 'sriov'];

/** KubeVirt hotplugs interfaces of two bindings alone, and only beside the pod's own. */
export const isPluggableInterface = (one: unknown, network: unknown): boolean =>
  field(network, 'multus') !== undefined && HOTPLUGGED_BINDINGS.some((binding) => field(one, binding) !== undefined);

function interfacesBetween(from: Json, to: Json): Set<string> {
  const [before, after] = [nicsOf(from), nicsOf(to)];
  const plugged = [...after].filter(([name, { nic, network }]) => {
    const old = before.get(name);
    if (old === undefined)
      return before.size > 0 && isPluggableInterface(nic, network) && field(nic, 'state') !== 'absent';
    return (
      canonical([old.nic, old.network]) !== canonical([nic, network]) &&
      canonical(lastingNic(old)) === canonical(lastingNic({ nic, network }))
    );
  });
  return new Set(plugged.map(([name]) => name));
}

interface Nic {
  nic: unknown;
  network: unknown;
}

function nicsOf({ networks, domain }: Json): Map<string, Nic> {
  const nets = byName(listOf(networks));
  const nics = byName(listOf(field(domain, 'devices', 'interfaces')));
  return new Map([...(nics ?? [])].map(([name, nic]) => [name, { nic, network: nets?.get(name) }]));
}

/** What a change that KubeVirt applies to an interface leaves as it was. */
function lastingNic({ nic, network }: Nic): unknown {
  const { state: _state, ...lasting } = asObject(nic);
  const { multus, ...net } = asObject(network);
  const { networkName: _networkName, ...others } = asObject(multus);
  return { lasting, net, multus: multus === undefined ? null : others };
}
