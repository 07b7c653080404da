import type { Command } from 'commander';
import { KEPT_DISK } from '../../api/labels-and-annotations.ts';
import {
  ClusterVirtualMachineOperations,
  Nodes,
  VirtualMachineOperations,
  VirtualMachineOperationSchedules,
  VirtualMachines,
  type Resource,
} from '../../api/resources.ts';
import { BUDGETS, Disks, KINDS, Pools } from '../cli/kinds.ts';
import { Session } from '../session/session.ts';
import type { CommandLine } from './command-line.ts';

/** How long a user who presses Tab waits for the cluster. */
const DEADLINE_MS = 2_000;

/** What the names are of that follow a command, or one of its commands, without a kind. */
const NAMED: Record<string, Resource> = {
  vm: VirtualMachines,
  change: VirtualMachines,
  attach: VirtualMachines,
  detach: VirtualMachines,
  disks: Disks.resource,
  operations: VirtualMachineOperations,
  schedules: VirtualMachineOperationSchedules,
  drain: Nodes,
};

/** What the names are of that an argument with this name takes, whatever its command. */
const ARGUMENTS: Record<string, readonly Resource[]> = {
  operation: [VirtualMachineOperations, ClusterVirtualMachineOperations],
  budget: BUDGETS.map(({ resource }) => resource),
};

/**
 * Returns the arguments that may come next: kinds, and names of objects in the cluster. Returns none if the cluster
 * does not answer in time.
 */
export async function candidates({ command, operands, last, globals }: CommandLine): Promise<string[]> {
  const [first] = command.registeredArguments;
  if (first === undefined) return [];
  const namesOf = (resource: Resource): Promise<string[]> => listNames(globals, resource);
  if (first.name() !== 'kind') {
    const resource = NAMED[topmost(command).name()];
    const resources = ARGUMENTS[first.name()] ?? (resource === undefined ? [] : [resource]);
    return (await Promise.all(resources.map(namesOf))).flat();
  }
  const kinds = KINDS.filter(({ aliases }) => first.description.split(/\W+/).includes(aliases[0]!));
  const [kind = last.includes('/') ? last.split('/', 1)[0]! : undefined, pool] = operands;
  if (kind === undefined) return kinds.map(({ aliases }) => aliases[0]!);
  const { resource } = kinds.find(({ aliases }) => aliases.includes(kind)) ?? Pools;
  if (operands.length === 0) return (await namesOf(resource)).map((name) => `${kind}/${name}`);
  const isOfPool = pool !== undefined && command.registeredArguments.at(-1)?.name() === 'vms';
  return namesOf(isOfPool ? VirtualMachines : resource);
}

/** Returns the command right below `drover` that the command belongs to. */
const topmost = (command: Command): Command => (command.parent?.parent == null ? command : topmost(command.parent));

async function listNames(globals: CommandLine['globals'], resource: Resource): Promise<string[]> {
  const session = new Session(globals);
  try {
    const [kube, namespace] = await Promise.all([session.kube(), session.namespace()]);
    const { items } = await kube.list(resource, {
      ...(resource.namespaced ? { namespace } : {}),
      ...(resource === Disks.resource ? { labelSelector: KEPT_DISK } : {}),
      metadataOnly: true,
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
    return items.map(({ metadata: { name } }) => name);
  } catch {
    return [];
  } finally {
    await session.close();
  }
}
