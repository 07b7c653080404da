import type { Stored } from '../../../api/objects.ts';
import {
  ClusterVirtualMachineOperations,
  Leases,
  Namespaces,
  VirtualMachineInstances,
  VirtualMachineOperations,
  VirtualMachines,
} from '../../../api/resources.ts';
import type { OperationRef } from '../../../decisions/operations/ref.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import { activityNow, isByWorker, isDeletion, runNow } from '../facts.ts';
import { Check } from '../guarantees/check.ts';
import type { Write } from '../world/api-server.ts';
import type { Call } from '../world/model-client.ts';
import type { Onlooker } from '../world/onlooker.ts';

/** How long a worker may not have heard of a label or a claim that has changed; longer than any watch is late. */
const HEARD_MS = 200;

/**
 * Checks that operations touch no VM of a namespace that they do not include, and none that is younger than they are,
 * and that workers of the cluster write nothing into a namespace that is left to others (G17, G37).
 */
export class ScopeGuarantees extends Check implements Onlooker {
  /** When each namespace was last left to others; absent while it is not. */
  readonly #claimedAt = new Map<string, number>();
  /** When labels of namespaces last changed, and what they were before. */
  readonly #labels = new Map<string, { at: number; before: Record<string, string> }>();

  /** When a worker last went on that had been frozen: it acts by what it knew before. */
  #lateAt = 0;

  hearsLate(): void {
    this.#lateAt = this.now;
  }

  /** Whether all workers have heard of what changed then. */
  #isHeard(at: number): boolean {
    return this.now - Math.max(at, this.#lateAt) > HEARD_MS;
  }

  onCall(call: Call): void {
    if (!isByWorker(call) || call.verb === 'get' || call.verb === 'list') return;
    const namespace = call.key.namespace ?? /\/namespaces\/([^/]+)\//.exec(call.key.name ?? '')?.[1];
    if (namespace === undefined) return;
    const since = this.#claimedAt.get(namespace);
    if (since !== undefined && this.#isHeard(since))
      this.broken(
        'G17',
        `${activityNow()} would ${call.verb} ${call.key.name} of ${namespace}, which is left to others`,
      );
    const [, path] = /\/virtualmachines\/([^/]+)\/\w+$/.exec(call.key.name ?? '') ?? [];
    if (call.verb === 'request' && path !== undefined) this.#checkScope(namespace, path);
  }

  onWrite({ resource, before, after }: Write, call: Call | null): void {
    const { namespace = '', name } = (after ?? before)!.metadata;
    if (resource === Leases) {
      if (after === undefined) this.#claimedAt.delete(namespace);
      else this.#claimedAt.set(namespace, this.now);
    }
    if (resource === Namespaces) this.#labels.set(name, { at: this.now, before: before?.metadata.labels ?? {} });
    if (!isByWorker(call)) return;
    if (resource === VirtualMachines) this.#checkScope(namespace, name);
    if (resource !== VirtualMachineInstances || before === undefined || !isDeletion(before, after)) return;
    this.#checkScope(namespace, name);
    this.#checkAge(before);
  }

  #checkScope(namespace: string, vm: string): void {
    const operation = this.#operation();
    if (operation === undefined) return;
    const labels = (at: 'now' | 'before') => (name: string) => {
      const known = this.#labels.get(name);
      if (at === 'before' && known !== undefined && !this.#isHeard(known.at)) return known.before;
      return this.world.server.find(Namespaces, { name })?.metadata.labels ?? {};
    };
    if (!(['now', 'before'] as const).some((at) => isMeant(operation, namespace, labels(at)(namespace))))
      this.broken('G37', `${operation.metadata.name} touches ${vm} of ${namespace}, which it does not include`);
  }

  /** Checks that what an operation takes down was there before it: whatever others have restarted since, has been. */
  #checkAge(vmi: Stored): void {
    const operation = this.#operation();
    if (operation === undefined) return;
    const [born, made] = [vmi, operation].map(({ metadata }) => Date.parse(metadata.creationTimestamp));
    if (born! > made!)
      this.broken('G37', `${operation.metadata.name} takes down ${vmi.metadata.name}, which is younger than it`);
  }

  /** The operation whose VMs are acted on now, also if it is deleted. */
  #operation(): StoredOperation | undefined {
    if (activityNow() !== 'changePower') return undefined;
    const [{ namespace, uid }] = this.world.temporal.runs.get(runNow()!)!.args as [OperationRef];
    const { events } = this.world.server.kind(
      namespace === undefined ? ClusterVirtualMachineOperations : VirtualMachineOperations,
    );
    return events.findLast(({ object }) => object.metadata.uid === uid)?.object as StoredOperation | undefined;
  }
}

/** Whether an operation names the namespace, or selects it by one label, as all do here. */
function isMeant({ metadata, spec }: StoredOperation, namespace: string, labels: Record<string, string>): boolean {
  if (metadata.namespace !== undefined) return metadata.namespace === namespace;
  const { namespaces, namespaceSelector } = spec;
  if (namespaces === undefined && namespaceSelector === undefined) return true;
  const wanted = Object.entries(namespaceSelector?.matchLabels ?? {});
  return namespaces?.includes(namespace) === true || wanted.some(([name, value]) => labels[name] === value);
}
