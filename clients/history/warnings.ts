import { EVENT_REPORTER } from '../../api/labels-and-annotations.ts';
import type { Stored } from '../../api/objects.ts';
import { CoreEvents, Pods, VirtualMachineInstances, VirtualMachines } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ageOf } from '../cli/print.ts';
import { timeOfEvent, type CoreEvent } from './core-event.ts';

/** The last warning about a VM: between two starts, only this tells why it does not run. */
export interface Warning {
  at: string;
  reason: string;
  message: string;
}

/** KubeVirt's names of the pods of VMIs. */
const LAUNCHER = /^virt-launcher-(.+)-[a-z0-9]{5}$/;

/**
 * Returns the last warning of KubeVirt and Kubernetes about each of these VMs, its VMI or its pod, by the name of the
 * VM. The API server keeps Events for an hour by default. Returns none if the user may not read them.
 */
export async function lastWarnings(
  kube: KubeClient,
  namespace: string,
  vms: ReadonlySet<string>,
): Promise<Map<string, Warning>> {
  if (vms.size === 0) return new Map();
  const { items } = await kube
    .list<CoreEvent>(CoreEvents, { namespace, fieldSelector: 'type=Warning' })
    .catch(() => ({ items: [] as Stored<CoreEvent>[] }));
  const pairs = items.flatMap((event): [string, Warning][] => {
    const vm = vmOf(event);
    if (vm === null || !vms.has(vm) || event.reportingComponent === EVENT_REPORTER) return [];
    const { reason = '', message = '' } = event;
    return [[vm, { at: timeOfEvent(event), reason, message }]];
  });
  return new Map(pairs.toSorted(([, one], [, other]) => one.at.localeCompare(other.at)));
}

function vmOf({ involvedObject: { kind, name } }: CoreEvent): string | null {
  if (kind === VirtualMachines.kind || kind === VirtualMachineInstances.kind) return name;
  return kind === Pods.kind ? (LAUNCHER.exec(name)?.[1] ?? null) : null;
}

/** Such as `FailedCreate: … (2m ago)`. `now`: milliseconds since the epoch. */
export const formatWarning = ({ at, reason, message }: Warning, now: number): string =>
  `${[reason, message].filter((part) => part !== '').join(': ')} (${ageOf(at, now)} ago)`;
