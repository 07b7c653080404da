import type { VmTemplate } from '../../api/pool/pool.ts';
import { canonical } from '../lib/canonical-json.ts';
import { field } from '../lib/json.ts';
import { amountOf, sameAmount } from '../lib/quantity.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';

export type LiveProgress = { state: 'done' } | { state: 'refused'; why: string } | { state: 'waiting'; for: string };

/**
 * Returns why this running VMI can't be brought to `to`, judged by the limits that it was started with; null if it
 * can. What `from` had already is not changed. KubeVirt has more reasons, which only it knows: they show as its
 * RestartRequired, and in `liveProgress`.
 */
export function liveRefusal(to: VmTemplate, vmi: VmiView, from?: VmTemplate): string | null {
  const { sockets, guest } = wantedOf(to.spec);
  const before = from && wantedOf(from.spec);
  const refused = before?.sockets === sockets ? null : refuseSockets(sockets, vmi);
  return refused ?? (before?.guest === guest ? null : refuseMemory(guest, vmi));
}

/** Returns how far KubeVirt has brought a running VMI to what was written to its VM, judged by the VMI. */
export function liveProgress(vm: VmView, vmi: VmiView): LiveProgress {
  const missing = missingFrom(vm, vmi);
  if (missing === null) return { state: 'done' };
  const { restartRequired } = vm;
  if (restartRequired !== null)
    return { state: 'refused', why: restartRequired.why || 'KubeVirt says that the change needs a restart' };
  return { state: 'waiting', for: missing };
}

/**
 * Serializes where a VMI's spec lets the VMI run, so that two specs can be compared. Leaves out absent and empty
 * fields.
 */
export function placementOf(spec: unknown): string {
  const set = ['nodeSelector', 'affinity', 'tolerations']
    .map((key) => [key, field(spec, key)])
    .filter(([, value]) => !isEmpty(value));
  return canonical(Object.fromEntries(set));
}

const isEmpty = (value: unknown): boolean => value === undefined || value === null || Object.keys(value).length === 0;

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
  const now = cpu.sockets ?? cpu.current;
  if (wanted === null || wanted === now) return null;
  if (now !== null && wanted < now) return `${wanted} sockets are fewer than the ${now} that the VMI has`;
  if (cpu.maxSockets === null) return 'the VMI was started without room for more sockets';
  if (wanted > cpu.maxSockets)
    return `${wanted} sockets are more than the ${cpu.maxSockets} that the VMI was started with room for`;
  return migratable ? null : NOT_MIGRATABLE;
}

function refuseMemory(wanted: string | null, { memory, migratable }: VmiView): string | null {
  if (wanted === null || sameAmount(wanted, memory.guest)) return null;
  const amount = amountOf(wanted);
  const most = amountOf(memory.maxGuest);
  const least = amountOf(memory.atBoot ?? memory.guest);
  if (amount === null) return `${wanted} is no amount of memory`;
  if (most === null) return 'the VMI was started without room for another amount of memory';
  if (amount > most)
    return `${wanted} of memory are more than the ${memory.maxGuest} that the VMI was started with room for`;
  if (least !== null && amount < least)
    return `${wanted} of memory are less than the ${memory.atBoot ?? memory.guest} that the VMI was started with`;
  return migratable ? null : NOT_MIGRATABLE;
}

const NOT_MIGRATABLE = 'the VMI cannot be migrated, and KubeVirt changes sockets and memory by a live migration';

/** Compares with the VM, not with a template: what a person has changed or added stays. */
function missingFrom({ spec }: VmView, { cpu, memory, placement }: VmiView): string | null {
  const { sockets, guest } = wantedOf(spec);
  if (sockets !== null) {
    if (cpu.sockets !== sockets) return `KubeVirt to ask for ${sockets} sockets`;
    if (cpu.current !== null && cpu.current !== sockets)
      return `the VMI to get ${sockets} sockets: it has ${cpu.current}`;
  }
  if (guest !== null) {
    if (!sameAmount(memory.guest, guest)) return `KubeVirt to ask for ${guest} of memory`;
    if (memory.current !== null && !sameAmount(memory.current, guest))
      return `the VMI to get ${guest} of memory: it has ${memory.current}`;
  }
  return placement === placementOf(field(spec, 'template', 'spec'))
    ? null
    : 'KubeVirt to take over node selector, affinity and tolerations';
}
