import { parseQuantity, isSameQuantity } from '../../api/lib/quantity.ts';
import type { VmTemplate } from '../../api/pool/pool.ts';
import { canonical } from '../lib/canonical-json.ts';
import { asObject, field, listOf, type Json } from '../lib/json.ts';
import { byName } from '../merge/named-items.ts';
import { normalForm } from '../template/normal-form.ts';
import { placementOf } from '../template/placement.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import { isHotpluggable } from './pluggable-volumes.ts';
import { isPluggableInterface, pluggedBetween } from './pluggable.ts';

/** A template that refers to an instance type or a preference, and itself with what they stand for in their place. */
export interface Expansion {
  of: VmTemplate;
  to: VmTemplate;
}

type LiveProgress = { state: 'done' } | { state: 'refused'; message: string } | { state: 'waiting'; why: string };

/**
 * Returns why this running VMI can't be brought to `to`, judged by the limits that it was started with; null if it
 * can. What `from` had already is not changed. KubeVirt has more reasons, which only it knows: they show as its
 * RestartRequired, and in `liveProgress`.
 */
export function liveRefusal(to: VmTemplate, vmi: VmiView, from?: VmTemplate): string | null {
  const refused = sizeRefusals(to, vmi, from).find((message) => message !== null);
  const plugs = from !== undefined && !vmi.migratable && plugsInterfaces(from, to) > 0;
  return refused ?? (plugs ? NO_INTERFACES : null);
}

/** Returns why each size that changes can't be changed in this VMI; null for one that can. */
function sizeRefusals(to: VmTemplate, vmi: VmiView, from: VmTemplate | undefined): (string | null)[] {
  const [before, after] = [from && wantedOf(from.spec), wantedOf(to.spec)];
  return [
    ...(before?.sockets === after.sockets ? [] : [refuseSockets(after.sockets, vmi)]),
    ...(before?.guest === after.guest ? [] : [refuseMemory(after.guest, vmi)]),
  ];
}

/** Reports whether all that KubeVirt could change in the VMI for this is refused, by the limits that it has. */
export function isLiveRefused(to: VmTemplate, vmi: VmiView, from: VmTemplate): boolean {
  const refusals = sizeRefusals(to, vmi, from);
  const moves = placementOf(vmiSpecOf(from.spec)) !== placementOf(vmiSpecOf(to.spec));
  return refusals.length > 0 && !moves && refusals.every((message) => message !== null);
}

/**
 * Returns what KubeVirt has given to a VMI, or asked for, that its VM no longer wants, and that it takes back at the
 * next start alone; null if there is nothing. What a user has changed in the VM is not looked at. `to`: the template
 * of both.
 */
export function keptUntilRestart(vm: VmView, { cpu, memory }: VmiView, to: VmTemplate): string | null {
  const { sockets, guest } = wantedOf(to.spec);
  const hasMoreSockets = sockets !== null && cpu.sockets !== null && cpu.sockets > sockets;
  const hasOtherMemory = vm.restartRequired !== null && guest !== null && !isSameQuantity(memory.guest, guest);
  if (!hasMoreSockets && !hasOtherMemory) return null;
  const own = wantedOf(vm.spec);
  // A VM keeps its instance type as that was when the VM was made, which may have had more than it has by now.
  const isOfOther = own.sockets === null && field(vm.spec, 'instancetype') != null && vm.restartRequired === null;
  if (hasMoreSockets && !isOfOther && (own.sockets ?? sockets) === sockets) return `${cpu.sockets} sockets`;
  return hasOtherMemory && isSameQuantity(own.guest ?? guest, guest) ? `${memory.guest} of memory` : null;
}

const plugsInterfaces = (from: VmTemplate, to: VmTemplate): number =>
  pluggedBetween(normalForm(from).spec, normalForm(to).spec).interfaces.size;

const NO_INTERFACES = 'the VMI cannot be migrated, and KubeVirt plugs interfaces by a live migration';

/**
 * Returns how far KubeVirt has brought a running VMI to what was written to its VM, judged by the VMI. `expansion`:
 * of the template of its VM, if that refers to an instance type or a preference.
 */
export function liveProgress(vm: VmView, vmi: VmiView, expansion?: Expansion): LiveProgress {
  const missing = missingFrom(vm, vmi, expansion);
  if (missing === null) return { state: 'done' };
  const { restartRequired } = vm;
  if (restartRequired !== null)
    return { state: 'refused', message: restartRequired.message || 'KubeVirt says that the change needs a restart' };
  return { state: 'waiting', why: missing };
}

function wantedOf(spec: unknown): { sockets: number | null; guest: string | null } {
  const domain = field(spec, 'template', 'spec', 'domain');
  const sockets = field(domain, 'cpu', 'sockets');
  const guest = field(domain, 'memory', 'guest');
  return {
    sockets: typeof sockets === 'number' ? sockets : null,
    guest: typeof guest === 'string' || typeof guest === 'number' ? String(guest) : null,
  };
}

function refuseSockets(wanted: number | null, { cpu, migratable }: VmiView): string | null {
  // What KubeVirt has asked for and the VMI never got is not taken away from it.
  const now = cpu.current ?? cpu.sockets;
  if (wanted === null || wanted === now) return null;
  if (now !== null && wanted < now) return `${wanted} sockets are fewer than the ${now} that the VMI has`;
  if (cpu.maxSockets === null) return 'the VMI was started without room for more sockets';
  if (wanted > cpu.maxSockets)
    return `${wanted} sockets are more than the ${cpu.maxSockets} that the VMI was started with room for`;
  return migratable ? null : NOT_MIGRATABLE;
}

function refuseMemory(wanted: string | null, { memory, migratable }: VmiView): string | null {
  if (wanted === null || isSameQuantity(wanted, memory.current ?? memory.guest)) return null;
  const amount = parseQuantity(wanted);
  const most = parseQuantity(memory.maxGuest);
  const least = parseQuantity(memory.atBoot ?? memory.guest);
  if (amount === null) return `${wanted} is not an amount of memory`;
  if (most === null) return 'the VMI was started without room for another amount of memory';
  if (amount > most)
    return `${wanted} of memory are more than the ${memory.maxGuest} that the VMI was started with room for`;
  if (least !== null && amount < least)
    return `${wanted} of memory are less than the ${memory.atBoot ?? memory.guest} that the VMI was started with`;
  return migratable ? null : NOT_MIGRATABLE;
}

const NOT_MIGRATABLE = 'the VMI cannot be migrated, and KubeVirt changes sockets and memory by a live migration';

/** Compares with the VM, not with a template: what a user has changed or added stays. */
function missingFrom({ spec }: VmView, vmi: VmiView, expansion: Expansion | undefined): string | null {
  const { cpu, memory, placement } = vmi;
  const expanded = refersTo(spec) === refersTo(expansion?.of.spec) ? vmiSpecOf(expansion?.to.spec) : undefined;
  const own = wantedOf(spec);
  const of = wantedOf({ template: { spec: expanded } });
  const [sockets, guest] = [own.sockets ?? of.sockets, own.guest ?? of.guest];
  const hasSockets = cpu.current === null ? cpu.sockets === sockets : cpu.current === sockets;
  if (sockets !== null && !hasSockets)
    return cpu.sockets === sockets
      ? `the VMI has ${cpu.current} of ${sockets} sockets`
      : `KubeVirt has not asked for ${sockets} sockets yet`;
  if (guest !== null && !isSameQuantity(memory.current ?? memory.guest, guest))
    return isSameQuantity(memory.guest, guest)
      ? `the VMI has ${memory.current} of memory, not yet ${guest}`
      : `KubeVirt has not asked for ${guest} of memory yet`;
  const device = missingDevice(asObject(vmiSpecOf(spec)), vmi);
  if (device !== null) return device;
  const wanted = { ...asObject(expanded), ...asObject(vmiSpecOf(spec)) };
  return placement === placementOf(wanted)
    ? null
    : 'KubeVirt has not taken over node selector, affinity and tolerations yet';
}

/**
 * Interfaces and volumes that KubeVirt plugs, and the guest does not have yet. Any other volume may have been plugged
 * into the VMI alone by a user.
 */
function missingDevice({ networks, volumes, domain }: Json, { plugged }: VmiView): string | null {
  const nets = byName(listOf(networks));
  for (const nic of listOf(field(domain, 'devices', 'interfaces'))) {
    const name = String(field(nic, 'name'));
    if (!isPluggableInterface(nic, nets?.get(name))) continue;
    const isWanted = field(nic, 'state') !== 'absent';
    if (isWanted !== plugged.interfaces.includes(name))
      return isWanted ? `the VMI does not have the interface ${name} yet` : `the VMI still has the interface ${name}`;
  }
  for (const volume of listOf(volumes)) {
    const name = String(field(volume, 'name'));
    if (isHotpluggable(volume) && !plugged.volumes.includes(name))
      return `the VMI does not have the volume ${name} yet`;
  }
  return null;
}

/** The instance type and the preference of a VM, by name; null without. */
const refersTo = (spec: unknown): string =>
  canonical(['instancetype', 'preference'].map((key) => field(spec, key, 'name') ?? null));

const vmiSpecOf = (spec: unknown): unknown => field(spec, 'template', 'spec');
